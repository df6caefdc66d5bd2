// Paths of a session, as callers write them: relative to the workspace, or absolute. The sandbox's agent sees to
// symbolic links and to rights; here only the text is looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::api {

// What can be said before the workspace is known. `invalid_argument` for a path that is empty, too long, has a NUL or a
// component `..`.
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

// From what is below the asked directory to what is below the workspace.
std::string joined_path(std::string_view directory, std::string_view below);

// The path that stands at the end of a target: its last `count` decoded segments. One with a slash in it is no name.
Result<std::string> path_of_segments(const std::vector<std::string>& segments, std::size_t count);

}  // namespace cloche::api
