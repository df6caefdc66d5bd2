#include "dialect/e2b/envd/paths.hpp"

#include <algorithm>
#include <vector>

#include "core/utf8.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::size_t longest_path = 4096;

std::string clean_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string clean;
  for (const std::string_view part : parts) clean.append("/").append(part);
  return clean.empty() ? "/" : clean;
}

}  // namespace

Result<std::string> resolve_path(std::string_view path, std::string_view home) {
  if (path.size() > longest_path) return fail(ErrorCode::invalid_argument, "the path is longer than 4096 bytes");
  if (path.find('\0') != std::string_view::npos || !is_utf8(path))
    return fail(ErrorCode::invalid_argument, "the path is not UTF-8 without NUL");
  if (path.starts_with('/')) return clean_path(path);
  if (path.starts_with('~')) {
    path.remove_prefix(1);
    if (!path.empty() && !path.starts_with('/'))
      return fail(ErrorCode::invalid_argument, "cannot expand user-specific home dir");
  }
  return clean_path(std::string(home).append("/").append(path));
}

std::string_view name_of_path(std::string_view absolute) {
  if (absolute == "/") return absolute;
  return absolute.substr(absolute.rfind('/') + 1);
}

}  // namespace cloche::dialect::e2b
