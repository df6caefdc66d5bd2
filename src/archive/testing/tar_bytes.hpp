// Archives made by hand for tests, block by block, so that they can be as wrong as a test wants.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace cloche::testing_support {

struct TarBlock {
  std::string name;
  char type = '0';
  std::string link;
  std::uint64_t size = 0;
  unsigned mode = 0644;
  std::string prefix;
  std::string magic = std::string("ustar\00000", 8);
  std::string size_text;  // raw, in place of the size

  std::string bytes() const {
    std::string block(512, '\0');
    const auto put = [&](std::size_t at, std::string_view text) { block.replace(at, text.size(), text); };
    const auto octal = [&](std::size_t at, int digits, unsigned long long value) {
      char text[32];
      std::snprintf(text, sizeof text, "%0*llo", digits, value);
      put(at, text);
    };
    put(0, name.substr(0, 100));
    octal(100, 7, mode);
    octal(108, 7, 0);
    octal(116, 7, 0);
    octal(124, 11, size);
    if (!size_text.empty()) put(124, size_text);
    octal(136, 11, 1'000'000'000);
    block[156] = type;
    put(157, link.substr(0, 100));
    put(257, magic);
    put(345, prefix);
    put(148, "        ");
    unsigned sum = 0;
    for (const char c : block) sum += static_cast<unsigned char>(c);
    octal(148, 6, sum);
    block[154] = '\0';
    return block;
  }
};

inline std::string padded(std::string_view content) {
  return std::string(content) + std::string((512 - content.size() % 512) % 512, '\0');
}
inline std::string tar_file(const std::string& name, std::string_view content, unsigned mode = 0644) {
  return TarBlock{.name = name, .size = content.size(), .mode = mode}.bytes() + padded(content);
}
inline std::string tar_directory(const std::string& name, unsigned mode = 0755) {
  return TarBlock{.name = name, .type = '5', .mode = mode}.bytes();
}
inline std::string tar_symlink(const std::string& name, const std::string& target) {
  return TarBlock{.name = name, .type = '2', .link = target}.bytes();
}
inline std::string tar_hardlink(const std::string& name, const std::string& target) {
  return TarBlock{.name = name, .type = '1', .link = target}.bytes();
}
inline std::string tar_extension(char type, std::string_view content) {
  return TarBlock{.name = "extension", .type = type, .size = content.size()}.bytes() + padded(content);
}
inline std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}
inline std::string tar_end() { return std::string(1024, '\0'); }

}  // namespace cloche::testing_support
