#include "core/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cloche {

namespace {

std::size_t length_by_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

// How many bytes at the front are whole characters. Most text is ASCII, and is passed eight bytes at a time.
std::size_t whole_at_front(std::string_view bytes) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::uint64_t eight = high_bits;
    if (bytes.size() - at >= sizeof eight) std::memcpy(&eight, bytes.data() + at, sizeof eight);
    if ((eight & high_bits) == 0) {
      at += sizeof eight;
      continue;
    }
    const Character next = first_character(bytes.substr(at));
    if (next.code >= invalid_byte) break;
    at += next.length;
  }
  return at;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  const Character invalid{invalid_byte + first, 1};
  const std::size_t length = length_by_lead(static_cast<unsigned char>(first));
  if (length == 1) return {first, 1};
  if (length == 0 || text.size() < length) return invalid;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return invalid;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < smallest[length] || code > 0x10ffff || surrogate) return invalid;
  return {code, length};
}

bool is_utf8(std::string_view bytes) { return whole_at_front(bytes) == bytes.size(); }

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (;;) {
    const std::size_t whole = whole_at_front(bytes);
    text.append(bytes.substr(0, whole));
    bytes.remove_prefix(whole);
    if (bytes.empty()) return text;
    text.append("\xef\xbf\xbd");
    bytes.remove_prefix(1);
  }
}

std::size_t incomplete_tail(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((byte & 0xc0U) == 0x80) continue;
    return length_by_lead(byte) > back ? back : 0;
  }
  return 0;
}

}  // namespace cloche
