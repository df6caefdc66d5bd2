#include "agent/files/operations/change_rules.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

namespace cloche::agent {

namespace {

// Detected by the file that Python's venv, virtualenv and uv create at the top of an environment.
bool is_virtual_environment(const Found& found) {
  const std::string mark = std::string(found.name) + "/pyvenv.cfg";
  struct stat status = {};
  return ::fstatat(found.parent, mark.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

bool is_usual(const Found& found) {
  const std::string_view name = found.name;
  if (name.starts_with('.')) return true;
  if (found.type != DT_DIR) return name.ends_with(".pyc") || name.ends_with(".pyo");
  return name == "__pycache__" || name == "node_modules" || is_virtual_environment(found);
}

GlobPattern::Is kind_of(const Found& found) {
  return found.type == DT_DIR ? GlobPattern::Is::directory : GlobPattern::Is::other;
}

}  // namespace

Result<ChangeRules> ChangeRules::of(const wire::FileRequest& request) {
  ChangeRules rules;
  rules.ignore_usual_ = request.ignore_usual;
  CLOCHE_TRY(rules.exclude_, PathFilter::compile(request.exclude, "exclude"));
  CLOCHE_TRY(rules.include_, PathFilter::compile(request.include, "include"));
  return rules;
}

bool ChangeRules::pass_over(const Found& found) const {
  if (ignore_usual_ && is_usual(found)) return true;
  return exclude_.matches(found.path, found.name, kind_of(found));
}

bool ChangeRules::wants(const Found& found) const {
  return include_.empty() || include_.matches(found.path, found.name, kind_of(found));
}

}  // namespace cloche::agent
