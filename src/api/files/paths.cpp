#include "api/files/paths.hpp"

namespace cloche::api {

namespace {

constexpr std::size_t longest_path = std::size_t{16} * 1024;

bool means_directory(std::string_view path) { return path.ends_with('/') || path.ends_with("/.") || path == "."; }

std::string_view take_component(std::string_view& path) {
  const auto slash = std::min(path.find('/'), path.size());
  const std::string_view component = path.substr(0, slash);
  path.remove_prefix(std::min(slash + 1, path.size()));
  return component;
}

// The rest of an absolute path below the workspace; its beginning may have doubled slashes.
Result<std::string_view> below(std::string_view path, std::string_view work_dir) {
  const auto refusal = [&] {
    return fail(ErrorCode::invalid_argument,
                "path is absolute; it must be relative to the workspace or start with " + std::string(work_dir));
  };
  while (!work_dir.empty()) {
    const std::string_view wanted = take_component(work_dir);
    if (wanted.empty()) continue;
    std::string_view found;
    while ((found.empty() || found == ".") && !path.empty()) found = take_component(path);
    if (found != wanted) return refusal();
  }
  return path;
}

// Without empty and `.` components.
std::string joined_components(std::string_view path) {
  std::string clean;
  while (!path.empty()) {
    const std::string_view component = take_component(path);
    if (component.empty() || component == ".") continue;
    if (!clean.empty()) clean += '/';
    clean += component;
  }
  return clean;
}

bool is_in(std::string_view absolute, std::string_view directory) {
  return absolute.starts_with(directory) && (absolute.size() == directory.size() || absolute[directory.size()] == '/');
}

}  // namespace

Status check_path(std::string_view path) {
  if (path.empty()) return fail(ErrorCode::invalid_argument, "path is empty");
  if (path.size() > longest_path) return fail(ErrorCode::invalid_argument, "path is too long");
  if (path.find('\0') != std::string_view::npos) return fail(ErrorCode::invalid_argument, "path contains a NUL byte");
  while (!path.empty()) {
    if (take_component(path) == "..") return fail(ErrorCode::invalid_argument, "path contains a `..` component");
  }
  return {};
}

Result<std::string> workspace_path(std::string_view path, std::string_view work_dir) {
  CLOCHE_CHECK(check_path(path));
  const bool is_directory = means_directory(path);
  if (path.starts_with('/')) {
    CLOCHE_TRY(path, below(path, work_dir));
  }
  std::string clean = joined_components(path);
  if (clean.empty()) return std::string(".");
  if (is_directory) clean += '/';
  return clean;
}

Result<std::string> session_path(std::string_view path, std::string_view work_dir) {
  CLOCHE_CHECK(check_path(path));
  if (!path.starts_with('/') || below(path, work_dir)) return workspace_path(path, work_dir);
  std::string clean = "/" + joined_components(path);
  if (is_in(clean, "/proc") || is_in(clean, "/sys")) {
    return fail(ErrorCode::permission_denied, "path is in /proc or /sys, which are kernel file systems");
  }
  if (means_directory(path) && clean != "/") clean += '/';
  return clean;
}

Result<std::string> workspace_file(std::string_view path, std::string_view work_dir) {
  CLOCHE_TRY(std::string clean, workspace_path(path, work_dir));
  if (means_directory(clean)) return fail(ErrorCode::invalid_argument, "path names a directory, not a file");
  return clean;
}

std::string joined_path(std::string_view directory, std::string_view below) {
  if (directory == ".") return std::string(below);
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(below);
}

Result<std::string> path_of_segments(const std::vector<std::string>& segments, std::size_t count) {
  std::string path;
  for (std::size_t i = segments.size() - std::min(count, segments.size()); i < segments.size(); ++i) {
    if (segments[i].find('/') != std::string::npos) {
      return fail(ErrorCode::invalid_argument,
                  "a path segment contains an encoded slash (%2F); write the slash unencoded");
    }
    // Empty ones at the beginning are passed over: they would make the path an absolute one.
    if (!path.empty()) path += '/';
    path += segments[i];
  }
  return path;
}

}  // namespace cloche::api
