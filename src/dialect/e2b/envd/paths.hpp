// Paths as envd's callers write them: absolute, relative to the home directory of the user, or with `~`. Only the text
// is looked at; the sandbox's agent checks symbolic links and permissions.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::dialect::e2b {

// The absolute path, without empty, `.` and `..` parts and without a slash at its end. An empty path is the home
// directory. `invalid_argument` for a NUL, text that is not UTF-8, more than 4096 bytes, and `~name`.
Result<std::string> resolve_path(std::string_view path, std::string_view home);

// The last part; "/" for the root.
std::string_view name_of_path(std::string_view absolute);

}  // namespace cloche::dialect::e2b
