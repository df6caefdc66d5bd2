#include "process/programs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace cloche::process {

std::vector<std::string> directories_of(std::string_view path) {
  std::vector<std::string> directories;
  while (!path.empty()) {
    const auto colon = path.find(':');
    const std::string_view directory = path.substr(0, colon);
    if (directory.starts_with('/') && std::ranges::find(directories, directory) == directories.end())
      directories.emplace_back(directory);
    path.remove_prefix(colon == path.npos ? path.size() : colon + 1);
  }
  return directories;
}

std::vector<std::string> search_directories() {
  const char* path = std::getenv("PATH");
  return directories_of((path == nullptr ? std::string() : std::string(path) + ":").append(system_path));
}

bool is_program(const std::string& path) {
  struct stat about;
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> find_program(const std::string& name, const std::vector<std::string>& directories) {
  if (name.find('/') != name.npos) return is_program(name) ? std::optional(name) : std::nullopt;
  for (const std::string& directory : directories) {
    std::string path = directory;
    path.append("/").append(name);
    if (is_program(path)) return path;
  }
  return std::nullopt;
}

std::optional<std::string> find_program(const std::string& name) { return find_program(name, search_directories()); }

std::vector<std::string> own_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) all.emplace_back(text);
  }
  for (const auto& [name, value] : changes) all.emplace_back(name).append("=").append(value);
  return all;
}

}  // namespace cloche::process
