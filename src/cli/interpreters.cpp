#include "cli/interpreters.hpp"

#include <algorithm>
#include <cctype>

namespace cloche::cli {

const std::vector<Interpreter>& interpreters() {
  static const std::vector<Interpreter> all{
      {"python", "python3", {".py"}}, {"bash", "bash", {".bash"}},
      {"sh", "sh", {".sh"}},          {"javascript", "node", {".js", ".mjs"}},
      {"perl", "perl", {".pl"}},      {"ruby", "ruby", {".rb"}},
      {"php", "php", {".php"}},
  };
  return all;
}

namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string known_languages() {
  std::string names;
  for (const Interpreter& interpreter : interpreters()) {
    if (!names.empty()) names += ", ";
    names += interpreter.language;
  }
  return names;
}

}  // namespace

Result<Interpreter> find_interpreter(std::string_view language, std::string_view file) {
  for (const Interpreter& interpreter : interpreters()) {
    if (equal_ignoring_case(language, interpreter.language)) return interpreter;
    const auto fits = [&](std::string_view extension) { return file.ends_with(extension); };
    if (language.empty() && std::ranges::any_of(interpreter.extensions, fits)) return interpreter;
  }
  if (language.empty()) {
    return fail(ErrorCode::invalid_argument, "cannot tell the language of " + std::string(file) +
                                                 " from its name; say --language with one of: " + known_languages());
  }
  return fail(ErrorCode::invalid_argument,
              "unknown language '" + std::string(language) + "'; there are: " + known_languages());
}

}  // namespace cloche::cli
