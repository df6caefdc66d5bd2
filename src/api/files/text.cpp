#include "api/files/text.hpp"

#include "core/utf8.hpp"

namespace cloche::api {

namespace {

std::string from_latin_1(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const unsigned char byte : bytes) {
    if (byte < 0x80) {
      text += static_cast<char>(byte);
    } else {
      text += static_cast<char>(0xc0 | (byte >> 6));
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> to_text(std::string bytes, TextEncoding encoding) {
  switch (encoding) {
    case TextEncoding::latin_1: return from_latin_1(bytes);
    case TextEncoding::replace: return to_utf8(bytes);
    case TextEncoding::utf_8: break;
  }
  if (!is_utf8(bytes)) return std::nullopt;
  return bytes;
}

}  // namespace cloche::api
