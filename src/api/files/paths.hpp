// Paths of a session as callers write them: relative to the workspace, or absolute. Only the text is checked here; the
// sandbox's agent checks symbolic links and permissions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::api {

// Checks that do not need the workspace. `invalid_argument` for a path that is empty or too long, or contains a NUL or
// a component `..`.
Status check_path(std::string_view path);

// The path below the workspace as workspace_path has it, or an absolute one outside of it, with the same rules for its
// components. `permission_denied` for paths below /proc and /sys.
Result<std::string> session_path(std::string_view path, std::string_view work_dir);

// The path below the workspace: without empty and `.` components; "." for the workspace itself; with a slash at its end
// where the caller wrote one, and so means a directory. An absolute path is `invalid_argument` unless it names the
// workspace or something below it: programs call their files by such names.
Result<std::string> workspace_path(std::string_view path, std::string_view work_dir);

// The same for a path that has to name a file.
Result<std::string> workspace_file(std::string_view path, std::string_view work_dir);

// Converts a path below the searched directory to one below the workspace.
std::string joined_path(std::string_view directory, std::string_view below);

// The path at the end of a target: its last `count` decoded segments. A segment that contains a slash is not a valid
// name.
Result<std::string> path_of_segments(const std::vector<std::string>& segments, std::size_t count);

}  // namespace cloche::api
