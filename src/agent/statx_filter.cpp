#include "agent/statx_filter.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace cloche::agent {

namespace {

bool statx_is_broken() {
  struct statx about{};
  return ::syscall(SYS_statx, AT_FDCWD, "/", AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &about) != 0 && errno == EINVAL;
}

}  // namespace

bool hide_broken_statx() {
  if (!statx_is_broken()) return true;
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof rules / sizeof rules[0], rules};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace cloche::agent
