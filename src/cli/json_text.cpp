#include "cli/json_text.hpp"

#include "core/base64.hpp"
#include "core/utf8.hpp"

namespace cloche::cli {

void put_text(boost::json::object& json, std::string_view key, std::string_view bytes) {
  const std::string text = to_utf8(bytes);
  if (text != bytes) {
    json[std::string(key) + "_base64"] = encode_base64(bytes);
  }
  json[key] = text;
}

}  // namespace cloche::cli
