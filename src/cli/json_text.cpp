#include "cli/json_text.hpp"

#include <openssl/evp.h>

namespace cloche::cli {

namespace {

// How many bytes the character at the front has; 0 when it is none.
std::size_t character_size(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what is beyond U+10FFFF.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
  return size;
}

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // the last for a NUL
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  const int n = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), from, static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(n));
  return text;
}

}  // namespace

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = character_size(bytes);
    text += size == 0 ? std::string_view("\xef\xbf\xbd") : bytes.substr(0, size);
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

void put_text(boost::json::object& json, std::string_view key, std::string_view bytes) {
  const std::string text = to_utf8(bytes);
  if (text != bytes) {
    json[std::string(key) + "_base64"] = to_base64(bytes);
  }
  json[key] = text;
}

}  // namespace cloche::cli
