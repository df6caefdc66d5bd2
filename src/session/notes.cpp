#include "session/notes.hpp"

#include <algorithm>

#include "core/bytes.hpp"
#include "core/utf8.hpp"

namespace cloche::session {

namespace {

constexpr std::size_t most_notes = 64;
constexpr std::size_t longest_note_key = 128;

Status check_notes(const Notes& notes, const char* name, Bytes longest) {
  const auto wrong = [&](const std::string& rule) {
    return fail(ErrorCode::invalid_argument, std::string(name) + ": " + rule);
  };
  if (notes.size() > most_notes) {
    return wrong(std::to_string(notes.size()) + " pairs, but at most " + std::to_string(most_notes) + " are allowed");
  }
  for (const auto& [key, value] : notes) {
    if (key.empty() || key.size() > longest_note_key) {
      return wrong("a key must have 1 to " + std::to_string(longest_note_key) + " bytes");
    }
    if (!is_utf8(key) || !is_utf8(value)) return wrong("keys and values must be UTF-8");
    if (value.size() > longest.count) {
      return wrong("the value of '" + key + "' is longer than " + to_string(longest));
    }
  }
  return {};
}

}  // namespace

Status check_metadata(const Notes& metadata) { return check_notes(metadata, "metadata", kib(1)); }

Status check_attributes(const Notes& attributes) { return check_notes(attributes, "attributes", kib(16)); }

bool has_all(const Notes& metadata, const Notes& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& pair) {
    const auto found = metadata.find(pair.first);
    return found != metadata.end() && found->second == pair.second;
  });
}

}  // namespace cloche::session
