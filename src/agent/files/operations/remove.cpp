// remove: a file, or a tree.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/files/operations/operations.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/remove_tree.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

// A file, a link or an empty directory; how many were removed.
Result<std::uint64_t> remove_one(const Place& place, const struct stat& status) {
  const bool directory = S_ISDIR(status.st_mode);
  if (::unlinkat(place.parent.get(), place.name.c_str(), directory ? AT_REMOVEDIR : 0) == 0) return 1;
  if (errno == ENOTEMPTY || errno == EEXIST) {
    return fail(ErrorCode::invalid_argument, "is a directory that is not empty; set `recursive` to remove it");
  }
  return fail_file(errno);
}

Result<std::uint64_t> remove_all(const Place& place) {
  const Removal removal = remove_tree(place.parent.get(), place.name, WhenCancelled::stop);
  if (removal.failed == 0) return removal.removed;
  Error error = removal.first_failure;
  error.message += " (" + std::to_string(removal.removed) + " removed, " + std::to_string(removal.failed) + " not)";
  return fail(std::move(error));
}

}  // namespace

Status remove_file(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  const auto missing = [&]() -> Status {
    if (request.missing_ok) return io.reply({.done = true});
    return fail_file(ENOENT);
  };
  auto place = base.place(path);
  if (!place && place.error().code == ErrorCode::not_found) return missing();
  if (!place) return fail(std::move(place).error());
  struct stat status = {};
  if (::fstatat(place->parent.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return missing();
    return fail_file(errno);
  }
  if (path.wants_directory && !S_ISDIR(status.st_mode)) return fail_file(ENOTDIR);
  CLOCHE_TRY(const std::uint64_t removed, request.recursive ? remove_all(*place) : remove_one(*place, status));
  return io.reply({.done = true, .files = removed});
}

}  // namespace cloche::agent
