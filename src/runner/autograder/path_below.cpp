#include "runner/autograder/path_below.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace cloche::runner {

std::optional<std::string> path_below(const std::string& root, const std::string& path) {
  std::string_view rest = path;
  if (rest.starts_with('/')) {
    if (!rest.starts_with(root) || (rest.size() > root.size() && rest[root.size()] != '/')) return std::nullopt;
    rest.remove_prefix(root.size());
  }
  if (rest.find('\0') != std::string_view::npos) return std::nullopt;
  std::vector<std::string_view> parts;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  std::string below;
  for (const std::string_view part : parts) {
    if (!below.empty()) below += '/';
    below += part;
  }
  if (below.empty()) return std::nullopt;
  return below;
}

}  // namespace cloche::runner
