#include "backend/oci/root/root_skeleton.hpp"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "backend/oci/draft.hpp"
#include "backend/oci/files.hpp"
#include "crypto/sha256.hpp"

namespace cloche::oci {

namespace {

std::string name_of(const RootPlan& plan) {
  Sha256 sum;
  const auto add = [&](std::string_view text) {
    sum.update(std::to_string(text.size()));
    sum.update(":");
    sum.update(text);
  };
  for (const RootEntry& entry : plan.entries) {
    add(std::to_string(static_cast<int>(entry.kind)) + " " + std::to_string(entry.mode));
    add(entry.path);
    add(entry.content);
    add(entry.identity);
  }
  return sum.hex().substr(0, 32);
}

// Only what all users may read: nothing of the host becomes known that a user of it could not read.
Status copy_tree(const std::string& from, const std::string& to) {
  struct stat about;
  if (::lstat(from.c_str(), &about) != 0) return fail_errno("stat " + from);
  if (S_ISLNK(about.st_mode)) {
    char target[PATH_MAX];
    const ssize_t n = ::readlink(from.c_str(), target, sizeof target - 1);
    if (n < 0) return fail_errno("read link " + from);
    target[n] = '\0';
    if (::symlink(target, to.c_str()) != 0) return fail_errno("create link " + to);
    return {};
  }
  if (S_ISDIR(about.st_mode) && (about.st_mode & S_IXOTH) != 0) {
    CLOCHE_CHECK(make_directory(to, 0755));
    CLOCHE_TRY(const auto names, list_directory(from));
    for (const std::string& name : names) CLOCHE_CHECK(copy_tree(from + "/" + name, to + "/" + name));
    return {};
  }
  if (!S_ISREG(about.st_mode) || (about.st_mode & S_IROTH) == 0) return {};
  CLOCHE_TRY(const std::string content, read_file(from, mib(16)));
  return write_file(to, content, about.st_mode & 0755);
}

Status make_entry(const std::string& root, const RootEntry& entry) {
  const std::string path = root + entry.path;
  switch (entry.kind) {
    case RootEntry::Kind::directory: return make_directory(path, entry.mode);
    case RootEntry::Kind::file: return write_file(path, entry.content, entry.mode);
    case RootEntry::Kind::link:
      if (::symlink(entry.content.c_str(), path.c_str()) != 0) return fail_errno("create link " + path);
      return {};
    case RootEntry::Kind::copy: return copy_tree(entry.content, path);
    case RootEntry::Kind::hard_link:
      if (::link(entry.content.c_str(), path.c_str()) != 0) return fail_errno("link " + path + " to " + entry.content);
      return {};
  }
  return {};
}

}  // namespace

Result<std::string> ensure_skeleton(const std::string& store, const RootPlan& plan) {
  const std::string place = store + "/" + name_of(plan);
  if (path_exists(place)) return place;
  CLOCHE_CHECK(make_directories(store, 0711));
  CLOCHE_TRY(const Draft draft, Draft::make(store, 0755));
  Status made;
  for (const RootEntry& entry : plan.entries) {
    made = make_entry(draft.path(), entry);
    if (!made) break;
  }
  if (made && ::rename(draft.path().c_str(), place.c_str()) != 0) made = fail_errno("rename to " + place);
  // Another process may have created the same one first.
  if (!made && !path_exists(place)) return fail(std::move(made).error().at("create root skeleton"));
  return place;
}

}  // namespace cloche::oci
