// space: how large the file system of a path is, and how much of it is used.
#include <fcntl.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "agent/files/operations/operations.hpp"
#include "agent/files/tree/paths.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

Status measure_space(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(const UniqueFd place, base.open(path, O_PATH));
  struct statvfs about = {};
  if (::fstatvfs(place.get(), &about) != 0) return fail_file(errno);
  const std::uint64_t used = about.f_blocks > about.f_bfree ? about.f_blocks - about.f_bfree : 0;
  return io.reply({.done = true, .bytes = used * about.f_frsize, .total_size = about.f_blocks * about.f_frsize});
}

}  // namespace cloche::agent
