#include "core/lock_file.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace cloche {

Result<UniqueFd> lock_file(const std::string& path, std::string_view waiting_for, const CancelToken& token) {
  constexpr std::chrono::milliseconds between_tries{10};
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno("open " + path);
  // flock itself knows no deadline.
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno("lock " + path);
    CLOCHE_CHECK(token.check(waiting_for));
    std::this_thread::sleep_for(between_tries);
  }
  return fd;
}

}  // namespace cloche
