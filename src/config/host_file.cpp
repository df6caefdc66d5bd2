#include "config/host_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/unique_fd.hpp"

namespace cloche::config {

Result<HostFile> read_host_file(const std::string& path, Bytes most) {
  if (path.find('\0') != path.npos) return fail(ErrorCode::invalid_argument, "file name contains a NUL byte");
  // Without O_NONBLOCK, a named pipe would block until another process writes to it.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail_errno("open " + path);
  struct stat about;
  if (::fstat(fd.get(), &about) != 0) return fail_errno("stat " + path);
  if (!S_ISREG(about.st_mode)) return fail(ErrorCode::invalid_argument, path + " is not a regular file");
  if ((about.st_mode & S_IWOTH) != 0) {
    return fail(ErrorCode::invalid_argument, path + " is writable by every user of this host: run chmod o-w on it");
  }
  HostFile file;
  file.others_can_read = (about.st_mode & S_IROTH) != 0;
  char chunk[16384];
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + path);
    if (n == 0) return file;
    file.content.append(chunk, static_cast<std::size_t>(n));
    if (file.content.size() > most.count) {
      return fail(ErrorCode::invalid_argument, path + " is larger than " + to_string(most));
    }
  }
}

}  // namespace cloche::config
