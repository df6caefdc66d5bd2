#include "backend/docker/host_path_map.hpp"

namespace cloche::docker {

namespace {

std::string_view without_end_slash(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// The part of `path` below `place`, with its leading slash; nothing if it is not below it.
bool lies_below(std::string_view path, std::string_view place, std::string_view& rest) {
  if (!path.starts_with(place)) return false;
  rest = path.substr(place.size());
  return rest.empty() || rest.front() == '/';
}

}  // namespace

std::string to_host_path(const HostPathMap& map, std::string_view path) {
  std::string_view best_rest = path, best_target;
  bool found = false;
  for (const auto& [from, to] : map) {
    std::string_view rest;
    // The shorter the rest, the longer the entry.
    if (!lies_below(path, without_end_slash(from), rest) || (found && rest.size() >= best_rest.size())) continue;
    found = true;
    best_rest = rest;
    best_target = without_end_slash(to);
  }
  if (!found) return std::string(path);
  std::string mapped = std::string(best_target) + std::string(best_rest == "/" ? "" : best_rest);
  return mapped.empty() ? "/" : mapped;
}

}  // namespace cloche::docker
