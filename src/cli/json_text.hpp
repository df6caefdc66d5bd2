// Bytes that a program printed, as JSON can carry them.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace cloche::cli {

// Puts the text under `key`. What is not UTF-8 is replaced by U+FFFD there, and then the bytes themselves are under
// `key` + "_base64".
void put_text(boost::json::object& json, std::string_view key, std::string_view bytes);

}  // namespace cloche::cli
