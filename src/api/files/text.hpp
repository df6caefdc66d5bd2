// From a file's bytes to text that JSON can carry.
#pragma once

#include <optional>
#include <string>

#include "api/files/bodies.hpp"

namespace cloche::api {

// Nothing when it is asked for as UTF-8 and is none.
std::optional<std::string> to_text(std::string bytes, TextEncoding encoding);

}  // namespace cloche::api
