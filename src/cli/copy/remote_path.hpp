// The type of a path in a session's workspace.
#pragma once

#include <string>

#include "cli/client/session_place.hpp"

namespace cloche::cli {

enum class RemoteKind { missing, file, directory };

// `/sessions/{tenant}/{session}/files/{path}`
std::string file_target(const SessionPlace& place, std::string_view path);
// `/sessions/{tenant}/{session}/copy?path={path}`
std::string copy_target(const SessionPlace& place, std::string_view path);

// `invalid_argument` for a path that leads out or is neither.
Task<Result<RemoteKind>> look_at(Service& service, const SessionPlace& place, std::string path);

}  // namespace cloche::cli
