// Place: a path of a session that a caller named, and the sandbox that has it, for as long as it is used.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/files/paths.hpp"
#include "session/session.hpp"

namespace cloche::api {

struct Place {
  std::shared_ptr<LiveSandbox> sandbox;
  std::string path;  // below the workspace, or absolute
  FilePath file;
};

// What a path of session_path means to the sandbox's agent.
inline FilePath place_of(std::string_view path, const std::string& work_dir) {
  if (path.starts_with('/')) return FilePath::anywhere(std::string(path));
  return FilePath::beneath(work_dir, std::string(path));
}

// The errors are those of session_path.
inline Result<Place> place_in(session::Session& session, std::string_view path) {
  CLOCHE_TRY(std::string clean, session_path(path, session.work_dir()));
  FilePath file = place_of(clean, session.work_dir());
  return Place{session.lease().shared(), std::move(clean), std::move(file)};
}

}  // namespace cloche::api
