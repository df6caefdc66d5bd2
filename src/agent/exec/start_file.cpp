#include "agent/exec/start_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/files/streams.hpp"
#include "agent/files/tree/parents.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/identity.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

// The file is new and not visible to other processes yet, so nothing here can be made to hang.
Status write_new(const wire::StartFile& file) {
  CLOCHE_TRY(const Base base, Base::open({}));
  CLOCHE_TRY(const CheckedPath path, base.check(file.path));
  if (path.wants_directory || path.components.empty()) return fail_file(EISDIR);
  const std::vector<std::string> above(path.components.begin(), path.components.end() - 1);
  CLOCHE_TRY(MadeDirectories made, make_directories(base, above));
  CLOCHE_TRY(const Place place, base.place(path));
  const UniqueFd written(
      ::openat(place.parent.get(), place.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!written) return fail_file(errno);
  if (const int number = write_all(written.get(), file.content); number != 0) {
    ::unlinkat(place.parent.get(), place.name.c_str(), 0);
    return fail_file(number);
  }
  made.keep();
  return {};
}

}  // namespace

Status write_start_file(const wire::StartFile& file, uid_t uid, gid_t gid) {
  CLOCHE_TRY(const UserFileAccess rights, UserFileAccess::of(uid, gid));
  const mode_t mask = ::umask(022);
  Status written = write_new(file);
  ::umask(mask);
  if (!written) return fail(std::move(written).error().at("write " + shown(file.path)));
  return {};
}

}  // namespace cloche::agent
