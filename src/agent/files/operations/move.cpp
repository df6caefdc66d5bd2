// mkdir and move: names made and changed, in one step where that is possible.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "agent/files/operations/move_across.hpp"
#include "agent/files/operations/operations.hpp"
#include "agent/files/tree/parents.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

Status make_directory(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(const mode_t mode, mode_of(request, 0755));
  std::uint64_t count = 1;
  if (request.parents) {
    CLOCHE_TRY(MadeDirectories made, make_directories(base, path.components, mode));
    count = made.count();
    made.keep();
  } else {
    CLOCHE_TRY(const Place place, base.place(path));
    if (::mkdirat(place.parent.get(), place.name.c_str(), mode) != 0) return fail_file(errno);
  }
  return io.reply({.done = true, .files = count});
}

namespace {

Result<Base> base_of_target(const wire::FileRequest& request) {
  return Base::open(request.to_root.value_or(request.root),
                    request.no_kernel_files ? KernelFiles::refused : KernelFiles::allowed);
}

// errno, or 0.
int rename_place(const Place& from, const Place& to, bool keep_existing) {
  const auto plain = [&] {
    return ::renameat(from.parent.get(), from.name.c_str(), to.parent.get(), to.name.c_str()) == 0 ? 0 : errno;
  };
  if (!keep_existing) return plain();
  if (::renameat2(from.parent.get(), from.name.c_str(), to.parent.get(), to.name.c_str(), RENAME_NOREPLACE) == 0) {
    return 0;
  }
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // The kernel or the file system does not support the flag, or the move is invalid, which the plain call reports as
  // well.
  struct stat status = {};
  if (::fstatat(to.parent.get(), to.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return plain();
}

}  // namespace

Status move_file(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const Base to_base, base_of_target(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  const std::string to_step = "to " + (request.to.empty() ? "\"\"" : shown(request.to));
  auto to = to_base.check(request.to);
  if (!to) return fail(std::move(to).error().at(to_step));
  if (to->components.empty()) return fail(to_base.place(*to).error().at(to_step));
  CLOCHE_TRY(const Place source, base.place(path));
  struct stat status = {};
  if (::fstatat(source.parent.get(), source.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return fail_file(errno);
  const bool directory = S_ISDIR(status.st_mode);
  if ((path.wants_directory || to->wants_directory) && !directory) return fail_file(ENOTDIR);
  MadeDirectories made;
  if (request.parents) {
    auto parents = make_directories(to_base, {to->components.begin(), to->components.end() - 1});
    if (!parents) return fail(std::move(parents).error().at(to_step));
    made = std::move(*parents);
  }
  auto target = to_base.place(*to);
  if (!target) return fail(std::move(target).error().at(to_step));
  const int number = rename_place(source, *target, request.keep_existing);
  if (number == EINVAL) {
    return fail(ErrorCode::invalid_argument, to_step + ": a directory cannot be moved into itself");
  }
  if (number == EXDEV) {
    auto moved = move_across(source, *target, request.keep_existing ? Existing::keep : Existing::replace);
    if (!moved) return fail(std::move(moved).error().at(to_step));
  } else if (number != 0) {
    return fail(file_error(number).at(to_step));
  }
  made.keep();
  return io.reply({.done = true});
}

}  // namespace cloche::agent
