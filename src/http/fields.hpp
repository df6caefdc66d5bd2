// Fields: the header fields of a message, in their order.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/grammar.hpp"

namespace cloche::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

// The value of the first field with this name, case-insensitive; empty if there is none.
inline std::string_view field_value(const Fields& fields, std::string_view name) {
  const auto found = std::ranges::find_if(fields, [&](const auto& field) { return same_word(field.first, name); });
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace cloche::http
