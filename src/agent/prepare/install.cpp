#include "agent/prepare/install.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

Status write_all_to(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) return fail_errno("write the agent");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status install(const std::string& path) {
  const UniqueFd from(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!from) return fail_errno("open the agent");
  const UniqueFd to(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755));
  if (!to) return fail_errno("create " + path);
  std::string buffer(64 * 1024, '\0');
  for (;;) {
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n < 0) return fail_errno("read the agent");
    if (n == 0) break;
    CLOCHE_CHECK(write_all_to(to.get(), std::string_view(buffer).substr(0, static_cast<std::size_t>(n))));
  }
  if (::fchmod(to.get(), 0755) != 0) return fail_errno("change the mode of " + path);
  return {};
}

}  // namespace

int run_install(const char* path) {
  const Status done = install(path);
  if (done) return 0;
  std::fprintf(stderr, "cloche-agent: install: %s\n", done.error().message.c_str());
  return 1;
}

}  // namespace cloche::agent
