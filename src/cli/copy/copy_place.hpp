// One end of a copy: a path of this host, or SESSION:PATH. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::cli {

struct CopyPlace {
  std::optional<std::string> session;  // none: a path of this host
  std::string path;                    // of a session: relative to its workspace, `.` for the workspace itself

  bool is_stream() const { return !session && path == "-"; }
};

// What precedes the first colon is a session, unless it contains a slash: `./a:b` is a file.
CopyPlace parse_copy_place(std::string_view text);

struct CopyArguments {
  enum class Way { up, down } way = Way::up;
  CopyPlace local;
  CopyPlace remote;
};
// `invalid_argument` unless one of the two is in a session, and only one.
Result<CopyArguments> plan_copy(std::string_view from, std::string_view to);

// The last name of a path; empty if there is none (`.`, `/`, `..`), so that its contents are meant.
std::string last_name(std::string_view path);
// True when the path says by itself that it is a directory.
bool names_directory(std::string_view path);
// `a/b`; `b` when the first is the workspace itself.
std::string joined(std::string_view directory, std::string_view name);

}  // namespace cloche::cli
