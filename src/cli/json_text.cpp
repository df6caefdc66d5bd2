#include "cli/json_text.hpp"

#include <openssl/evp.h>

#include "core/utf8.hpp"

namespace cloche::cli {

namespace {

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // the last for a NUL
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  const int n = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), from, static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(n));
  return text;
}

}  // namespace

void put_text(boost::json::object& json, std::string_view key, std::string_view bytes) {
  const std::string text = to_utf8(bytes);
  if (text != bytes) {
    json[std::string(key) + "_base64"] = to_base64(bytes);
  }
  json[key] = text;
}

}  // namespace cloche::cli
