#include "agent/link/descriptors.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "agent/identity.hpp"

namespace cloche::agent {

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("create a pipe");
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

namespace {

// A terminal's slave belongs to the user that opens the master.
UniqueFd open_as_user(const char* path, uid_t uid, gid_t gid, int& error) {
  const auto rights = UserFileAccess::of(uid, gid);
  UniqueFd opened(rights ? ::open(path, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1);
  error = rights ? errno : EPERM;
  return opened;
}

}  // namespace

Result<Terminal> open_terminal(uid_t uid, gid_t gid, const wire::WindowSize& size) {
  Terminal terminal;
  int error = 0;
  terminal.master = open_as_user("/dev/ptmx", uid, gid, error);
  if (!terminal.master) return fail(errno_error("open /dev/ptmx", error));
  int unlock = 0;
  int number = 0;
  if (::ioctl(terminal.master.get(), TIOCSPTLCK, &unlock) != 0) return fail_errno("unlock the terminal");
  if (::ioctl(terminal.master.get(), TIOCGPTN, &number) != 0) return fail_errno("number the terminal");
  char path[32];
  std::snprintf(path, sizeof path, "/dev/pts/%d", number);
  terminal.slave = open_as_user(path, uid, gid, error);
  if (!terminal.slave) return fail(errno_error(path, error));
  resize_terminal(terminal.master.get(), size);
  return terminal;
}

void resize_terminal(int master, const wire::WindowSize& size) {
  winsize window{};
  window.ws_row = static_cast<unsigned short>(std::min<std::uint32_t>(size.rows, 0xffff));
  window.ws_col = static_cast<unsigned short>(std::min<std::uint32_t>(size.columns, 0xffff));
  ::ioctl(master, TIOCSWINSZ, &window);
}

namespace {

// The descriptors that are open now.
std::optional<std::vector<int>> open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return std::nullopt;
  std::vector<int> all;
  while (const dirent* entry = ::readdir(directory)) {
    int fd = -1;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, fd).ptr != end || fd == ::dirfd(directory)) continue;
    all.push_back(fd);
  }
  ::closedir(directory);
  return all;
}

int most_descriptors() { return static_cast<int>(std::min(::sysconf(_SC_OPEN_MAX), 65'536L)); }

// False where the kernel cannot do it (gVisor).
bool close_ranges_between(const std::vector<int>& kept) {
  unsigned first = 0;
  const auto close_gap = [](unsigned from, unsigned to) { return from > to || ::close_range(from, to, 0) == 0; };
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > first && !close_gap(first, number - 1)) return false;
    first = std::max(first, number + 1);
  }
  return close_gap(first, ~0U);
}

}  // namespace

void close_all_but(std::initializer_list<int> keep) {
  std::vector<int> kept(keep);
  std::erase_if(kept, [](int fd) { return fd < 0; });
  std::ranges::sort(kept);
  if (close_ranges_between(kept)) return;
  const auto close_unless_kept = [&](int fd) {
    if (!std::ranges::binary_search(kept, fd)) ::close(fd);
  };
  // One by one, but only those there are: thousands of calls for nothing would take longer than what the child is for.
  if (const auto all = open_descriptors()) {
    std::ranges::for_each(*all, close_unless_kept);
    return;
  }
  for (int fd = 0; fd < most_descriptors(); ++fd) close_unless_kept(fd);
}

void close_on_exec_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  const auto mark = [first](int fd) {
    if (fd >= first) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  };
  if (const auto all = open_descriptors()) {
    std::ranges::for_each(*all, mark);
    return;
  }
  for (int fd = first; fd < most_descriptors(); ++fd) mark(fd);
}

}  // namespace cloche::agent
