// From a file's bytes to text that JSON can carry.
#pragma once

#include <optional>
#include <string>

#include "api/files/bodies.hpp"

namespace cloche::api {

// Nothing if UTF-8 was requested and the bytes are not UTF-8.
std::optional<std::string> to_text(std::string bytes, TextEncoding encoding);

}  // namespace cloche::api
