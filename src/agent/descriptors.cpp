#include "agent/descriptors.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "agent/identity.hpp"

namespace cloche::agent {

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("make a pipe");
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Terminal> open_terminal(uid_t uid, const wire::WindowSize& size) {
  Terminal terminal;
  // The slave belongs to whoever opens the master.
  if (::seteuid(uid) != 0) return fail_errno("borrow the user's id");
  terminal.master.reset(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  const int error = errno;
  if (::seteuid(agent_uid) != 0) std::abort();
  if (!terminal.master) return fail(errno_error("open /dev/ptmx", error));
  int unlock = 0;
  int number = 0;
  if (::ioctl(terminal.master.get(), TIOCSPTLCK, &unlock) != 0) return fail_errno("unlock the terminal");
  if (::ioctl(terminal.master.get(), TIOCGPTN, &number) != 0) return fail_errno("number the terminal");
  char path[32];
  std::snprintf(path, sizeof path, "/dev/pts/%d", number);
  if (::seteuid(uid) != 0) return fail_errno("borrow the user's id");
  terminal.slave.reset(::open(path, O_RDWR | O_NOCTTY | O_CLOEXEC));
  const int slave_error = errno;
  if (::seteuid(agent_uid) != 0) std::abort();
  if (!terminal.slave) return fail(errno_error(path, slave_error));
  resize_terminal(terminal.master.get(), size);
  return terminal;
}

void resize_terminal(int master, const wire::WindowSize& size) {
  winsize window{};
  window.ws_row = static_cast<unsigned short>(std::min<std::uint32_t>(size.rows, 0xffff));
  window.ws_col = static_cast<unsigned short>(std::min<std::uint32_t>(size.columns, 0xffff));
  ::ioctl(master, TIOCSWINSZ, &window);
}

void close_all_but(std::initializer_list<int> keep) {
  std::vector<int> kept(keep);
  std::ranges::sort(kept);
  unsigned first = 0;
  const auto close_gap = [](unsigned from, unsigned to) {
    if (from > to) return;
    if (::close_range(from, to, 0) == 0) return;
    const long most = ::sysconf(_SC_OPEN_MAX);
    for (unsigned fd = from; fd <= to && fd < static_cast<unsigned>(std::min(most, 4096L)); ++fd)
      ::close(static_cast<int>(fd));
  };
  for (int fd : kept) {
    if (fd < 0) continue;
    if (static_cast<unsigned>(fd) > first) close_gap(first, static_cast<unsigned>(fd) - 1);
    first = std::max(first, static_cast<unsigned>(fd) + 1);
  }
  close_gap(first, ~0U);
}

}  // namespace cloche::agent
