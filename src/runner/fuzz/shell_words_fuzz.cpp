// Any line: no crash, and words that are quoted and joined again are split into the same words.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runner/autograder/shell_words.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche::runner;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto words = split_words(line);
  if (!words) return 0;
  std::string joined;
  for (const std::string& word : *words) {
    joined += '\'';
    for (const char c : word) joined += c == '\'' ? std::string("'\\''") : std::string(1, c);
    joined += "' ";
  }
  if (split_words(joined) != words) std::abort();
  return 0;
}
