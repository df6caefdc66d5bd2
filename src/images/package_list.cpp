#include "images/package_list.hpp"

#include <algorithm>

namespace cloche::images {

namespace {

std::string_view trimmed(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const auto first = line.find_first_not_of(" \t\r");
  if (first == line.npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// As in Debian's policy. A name becomes an argument of apt, which must not misinterpret it.
bool is_package(std::string_view name) {
  const auto is_alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return name.size() >= 2 && name.size() <= 100 && is_alnum(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_alnum(c) || c == '+' || c == '.' || c == '-'; });
}

// An absolute path that cannot climb, and never a whole top directory.
bool is_pattern(std::string_view path) {
  if (!path.starts_with('/') || path.ends_with('/') || std::ranges::count(path, '/') < 2) return false;
  if (std::ranges::any_of(path, [](unsigned char c) { return c <= ' ' || c == '\\' || c == '[' || c >= 127; }))
    return false;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view part = path.substr(at + 1, end - at - 1);
    if (part.empty() || part == "." || part == "..") return false;
    at = end;
  }
  return true;
}

}  // namespace

Result<PackageList> parse_package_list(std::string_view text) {
  PackageList list;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.empty()) continue;
    const bool drops = line.front() == '-';
    const std::string_view word = drops ? line.substr(1) : line;
    if (drops ? !is_pattern(word) : !is_package(word)) {
      return fail(ErrorCode::invalid_argument,
                  "line " + std::to_string(number) + ": '" + std::string(line) + "' is " +
                      (drops ? "not a valid path in an image" : "not a valid package name"));
    }
    (drops ? list.dropped : list.packages).emplace_back(word);
  }
  return list;
}

}  // namespace cloche::images
