#include "cli/text/shell_quote.hpp"

#include <algorithm>

namespace cloche::cli {

namespace {

bool is_plain(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_letter || std::string_view("_-./:,+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string quote_word(std::string_view word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    // Nothing is special within single quotes but their end.
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted += '\'';
}

std::string quote_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line.append(line.empty() ? "" : " ").append(quote_word(word));
  return line;
}

}  // namespace cloche::cli
