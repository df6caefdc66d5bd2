// The small words of HTTP's grammar, which both ends check.
#pragma once

#include <algorithm>
#include <string_view>

#include "core/text.hpp"

namespace cloche::http {

constexpr bool is_token_character(char c) {
  const bool letter_or_digit = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  return letter_or_digit || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// The name of a method or of a field.
constexpr bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_character);
}

// Characters that are allowed in a field value: printable characters, blanks, and bytes beyond ASCII.
constexpr bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return (c >= 0x20 && c != 0x7f) || c == '\t'; });
}

constexpr std::string_view without_blanks_around(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// True when the comma-separated list has the word in it.
constexpr bool list_has(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (same_word(without_blanks_around(list.substr(0, comma)), word)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace cloche::http
