// Paths as the engine's host knows them, for the case that Cloche itself runs in a container of that engine.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cloche::docker {

// Directories as Cloche sees them, to the same directories as the engine's host sees them.
using HostPathMap = std::map<std::string, std::string>;

// Replaces the longest entry that `path` is at or below; whole path components count, so `/data` says nothing about
// `/database`. A path below no entry stays as it is.
std::string to_host_path(const HostPathMap& map, std::string_view path);

}  // namespace cloche::docker
