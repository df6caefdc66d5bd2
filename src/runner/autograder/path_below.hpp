// Which place below a directory a caller means. No I/O.
#pragma once

#include <optional>
#include <string>

namespace cloche::runner {

// A path below `root` that is meant by `path`, absolute or not; nullopt when it leaves it. By its text alone: the
// sandbox sees to symlinks.
std::optional<std::string> path_below(const std::string& root, const std::string& path);

}  // namespace cloche::runner
