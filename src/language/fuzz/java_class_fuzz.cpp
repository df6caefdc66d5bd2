// The class of a Java source of any bytes: found in one pass, and never anything but a word.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "language/language_class.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const cloche::JavaClass found = cloche::find_java_class(text);
  if (found.name.empty()) std::abort();
  for (const char c : found.name) {
    if (std::string_view("\0 /.-;\"'\n", 9).find(c) != std::string_view::npos) std::abort();
  }
  return 0;
}
