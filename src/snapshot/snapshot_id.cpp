#include "snapshot/snapshot_id.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "auth/names.hpp"

namespace cloche::snapshot {

namespace {

constexpr std::string_view id_characters = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::size_t id_length = 20;

}  // namespace

std::string random_id(char letter) {
  // Bytes beyond the last whole multiple would make some characters more likely than others.
  constexpr unsigned most = 256 / id_characters.size() * id_characters.size();
  std::string id(1, letter);
  while (id.size() < id_length) {
    std::array<unsigned char, 32> raw{};
    // A request of this size is never cut short.
    if (::getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(raw.size())) std::abort();
    for (const unsigned char byte : raw) {
      if (byte < most && id.size() < id_length) id += id_characters[byte % id_characters.size()];
    }
  }
  return id;
}

bool is_id(std::string_view text) {
  return text.size() == id_length && text.front() == id_letter &&
         std::ranges::all_of(text, [](char c) { return id_characters.find(c) != std::string_view::npos; });
}

Status check_name(std::string_view name) {
  if (!auth::is_valid_name(name)) {
    return fail(ErrorCode::invalid_argument,
                "a snapshot's name must be 1 to 64 letters, digits, '_', '.' and '-', and not '.' or '..'");
  }
  if (is_id(name)) return fail(ErrorCode::invalid_argument, "a snapshot's name must not look like a snapshot's id");
  return {};
}

}  // namespace cloche::snapshot
