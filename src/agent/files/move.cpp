// mkdir and move: names made and changed in one step.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "agent/files/file_error.hpp"
#include "agent/files/operations.hpp"
#include "agent/files/parents.hpp"

namespace cloche::agent {

Status make_directory(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, Base::open(request.root));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(const mode_t mode, mode_of(request, 0755));
  if (request.parents) {
    CLOCHE_TRY(MadeDirectories made, make_directories(base, path.components, mode));
    made.keep();
  } else {
    CLOCHE_TRY(const Place place, base.place(path));
    if (::mkdirat(place.parent.get(), place.name.c_str(), mode) != 0) return fail_file(errno);
  }
  return io.reply({.done = true});
}

Status move_file(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, Base::open(request.root));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  const std::string to_step = "to " + (request.to.empty() ? "\"\"" : shown(request.to));
  auto to = base.check(request.to);
  if (!to) return fail(std::move(to).error().at(to_step));
  if (to->components.empty()) return fail(base.place(*to).error().at(to_step));
  CLOCHE_TRY(const Place source, base.place(path));
  struct stat status = {};
  if (::fstatat(source.parent.get(), source.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return fail_file(errno);
  const bool directory = S_ISDIR(status.st_mode);
  if ((path.wants_directory || to->wants_directory) && !directory) return fail_file(ENOTDIR);
  MadeDirectories made;
  if (request.parents) {
    auto parents = make_directories(base, {to->components.begin(), to->components.end() - 1});
    if (!parents) return fail(std::move(parents).error().at(to_step));
    made = std::move(*parents);
  }
  auto target = base.place(*to);
  if (!target) return fail(std::move(target).error().at(to_step));
  if (::renameat(source.parent.get(), source.name.c_str(), target->parent.get(), target->name.c_str()) != 0) {
    const int number = errno;
    if (number == EINVAL)
      return fail(ErrorCode::invalid_argument, to_step + ": a directory cannot be moved into itself");
    if (number == EXDEV) {
      return fail(ErrorCode::invalid_argument,
                  to_step + ": on another file system, where a move is not possible; copy instead");
    }
    return fail(file_error(number).at(to_step));
  }
  made.keep();
  return io.reply({.done = true});
}

}  // namespace cloche::agent
