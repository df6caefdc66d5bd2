/* Loaded into the zygote: what Python cannot do, or not fast enough. It has no library of its own; what it calls is in
 * the C library that the interpreter has already, whichever that is.
 *
 * A run and its supervisor are made by copying the interpreter once. The supervisor begins as a vfork of the zygote: it
 * has the zygote's memory, and the zygote stands still, until it executes its own program; before that it forks the
 * run, whose parent it so becomes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

/* Makes pages the caller's own that it is about to write to, all of them in one go: pairs of an address and a length.
 * Zero, or -1 where the kernel cannot. */
__attribute__((visibility("default"))) int own_pages(const uint64_t* ranges, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (madvise((void*)(uintptr_t)ranges[2 * i], ranges[2 * i + 1], MADV_POPULATE_WRITE) != 0) return -1;
  return 0;
}

enum { most_fds = 2 };

struct Zygote {
  const char* agent_path;
  const uint64_t* ranges; /* pages that a run needs as its own */
  size_t range_count;
  int watcher; /* an open program file */
};

/* Creates a run and its supervisor. Returns zero in the run and one in the zygote, even if no process could be created:
 * the agent then sees the end of the supervisor's socket. Not inlined: the zygote needs nothing of this frame again.
 */
__attribute__((noinline)) static int fork_run(const struct Zygote* zygote, int supervisor_control) {
  if (vfork() != 0) return 1;
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* if it is not supported, the agent finds orphans by their mark */
  signal(SIGCHLD, SIG_DFL);
  const pid_t run = fork();
  if (run == 0) {
    close(supervisor_control); /* only the supervisor holds it, so its end is the supervisor's end */
    own_pages(zygote->ranges, zygote->range_count);
    return 0;
  }
  if (run < 0) _exit(71);
  char control_text[16];
  char run_text[16];
  snprintf(control_text, sizeof control_text, "%d", supervisor_control);
  snprintf(run_text, sizeof run_text, "%d", (int)run);
  const char* argv[] = {"watcher", control_text, run_text, zygote->agent_path, NULL};
  const char* none[] = {NULL};
  /* All that Python opens is so already; modules may open others. */
  syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
  fcntl(supervisor_control, F_SETFD, 0);
  syscall(SYS_execveat, zygote->watcher, "", argv, none, AT_EMPTY_PATH);
  kill(run, SIGKILL);
  _exit(71);
}

/* Waits for the agent to ask: one byte, with descriptors. How many came; -1 when the agent is gone. */
static int receive(int control, int fds[most_fds]) {
  char byte = 0;
  _Alignas(struct cmsghdr) char room[CMSG_SPACE(most_fds * sizeof(int))];
  struct iovec data = {&byte, 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  ssize_t got;
  do {
    got = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return -1;
  const struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return 0;
  const size_t size = header->cmsg_len - CMSG_LEN(0);
  memcpy(fds, CMSG_DATA(header), size);
  return (int)(size / sizeof(int));
}

/* Forks whenever it is asked to. Returns only in a run: the descriptor that it waits at; and -1 in the zygote, when the
 * agent is gone. Meanwhile nothing of the interpreter is touched, so that no page of it has to be copied for the
 * zygote's sake. */
__attribute__((visibility("default"))) int serve(int control, int watcher, const char* agent_path,
                                                 const uint64_t* ranges, size_t range_count) {
  const struct Zygote zygote = {agent_path, ranges, range_count, watcher};
  for (;;) {
    int fds[most_fds];
    const int count = receive(control, fds);
    if (count < 0) return -1;
    if (count == most_fds && fork_run(&zygote, fds[1]) == 0) return fds[0];
    for (int i = 0; i < count; ++i) close(fds[i]);
    const char forked = 'f'; /* this fork is no longer on its way */
    send(control, &forked, 1, MSG_NOSIGNAL);
  }
}
