// tries: every way from a program to a process with more rights (agent, supervisors, zygote, spare forks, watchers,
// file
//        workers): every descriptor and file of it in /proc, its memory, tracing, signals, limits, priority, processors
// must: be refused each of them. Its own child, on which the same is tried first, shows which ways there are at all
//
// Usage: reach [until-told] [userns]
// until-told: again and again, until its input ends. userns: as root of a user namespace of its own, where it gets one.
#include "../attack.h"

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

enum { most_said = 4000, highest_fd = 64 };

// Each thing is said once, however often it is found.
static char said[most_said][120];
static int said_count;
static int is_control;  // the process that is tried is its own child

static int is_new(const char* line) {
  for (int i = 0; i < said_count; ++i)
    if (strcmp(said[i], line) == 0) return 0;
  if (said_count < most_said) snprintf(said[said_count++], sizeof said[0], "%s", line);
  return 1;
}

static pid_t target;
static char target_name[32];

static int read_file(const char* path, char* text, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

// Whether any of its user ids is not the program's. If the kernel hides them, limits show it: they are only accessible
// for a process with the same user ids.
static int has_more_rights(pid_t pid) {
  if (pid == 1) return 1;  // never the program's own
  char path[60], status[4096];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  struct rlimit limit;
  if (!read_file(path, status, sizeof status)) return syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, NULL, &limit) != 0;
  const char* uids = strstr(status, "\nUid:");
  unsigned real = 0, effective = 0, saved = 0, of_files = 0;
  if (uids == NULL || sscanf(uids + 5, "%u %u %u %u", &real, &effective, &saved, &of_files) != 4) return 1;
  const unsigned mine = getuid();
  return real != mine || effective != mine || saved != mine || of_files != mine;
}

// What worked. Against its own child that is as it should be.
static void reached(const char* format, ...) {
  char way[90], line[200];
  va_list rest;
  va_start(rest, format);
  vsnprintf(way, sizeof way, format, rest);
  va_end(rest);
  // A process that becomes the user's drops its rights on the way, and may do so between two tries; or it has ended.
  if (!is_control && (!has_more_rights(target) || (kill(target, 0) != 0 && errno == ESRCH))) return;
  snprintf(line, sizeof line, "%s of %s", way, is_control ? "its own child" : target_name);
  if (!is_new(line)) return;
  if (is_control)
    held("control: %s", line);
  else
    hole("%s (process %d)", line, target);
}

static const char* own_path(const char* file) {
  static char path[200];
  snprintf(path, sizeof path, "/proc/%d/%s", target, file);
  return path;
}

// What the program may open anyway by its name: /dev/null, public files, and its own files, which a file worker has
// open while it works on them.
static int is_open_to_it(int opened, const char* link, int flags) {
  struct stat about, by_name;
  if (fstat(opened, &about) != 0) return 0;
  if (S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3)) return 1;
  if (!is_control && about.st_uid == getuid()) return 1;
  // By its mode: a file of ours that is read with more rights has another.
  const int is_plain = S_ISREG(about.st_mode) || S_ISDIR(about.st_mode);
  if (!is_control && flags == O_RDONLY && is_plain && (about.st_mode & S_IROTH) != 0) return 1;
  // By its own descriptor: the other process may have closed its by now.
  char name[300], own[40];
  snprintf(own, sizeof own, "/proc/self/fd/%d", opened);
  ssize_t length = readlink(own, name, sizeof name - 1);
  if (length <= 0 || name[0] != '/') length = readlink(link, name, sizeof name - 1);
  if (length <= 0) return 0;
  name[length] = '\0';
  if (name[0] != '/') return 0;
  const int again = open(name, flags | O_CLOEXEC | O_NONBLOCK);
  const int is_same =
      again >= 0 && fstat(again, &by_name) == 0 && by_name.st_dev == about.st_dev && by_name.st_ino == about.st_ino;
  if (again >= 0) close(again);
  return is_same;
}

static void try_open(const char* file, int is_descriptor) {
  static const struct {
    int flags;
    const char* how;
  } ways[] = {{O_RDONLY, "to read"}, {O_WRONLY, "to write"}, {O_RDWR, "for both"}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    const char* path = own_path(file);
    const int fd = open(path, ways[i].flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) continue;
    if (!is_open_to_it(fd, path, ways[i].flags)) {
      if (is_descriptor) {
        char link[100] = "";
        char own[40];
        snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, link, 60);
        if (n <= 0) n = readlink(own, link, 60);
        link[n > 0 ? n : 0] = '\0';
        for (char* c = link; *c != '\0'; ++c)
          if (*c >= '0' && *c <= '9') *c = '#';
        reached("open a descriptor %s (%s)", ways[i].how, link);
      } else {
        char byte;
        // What can be opened but not read reveals nothing.
        if (ways[i].flags != O_RDONLY || read(fd, &byte, 1) > 0 || errno == EISDIR)
          reached("open %s %s", file, ways[i].how);
      }
    }
    close(fd);
  }
}

static void try_descriptors(void) {
  for (int number = 0; number < highest_fd; ++number) {
    char file[40];
    snprintf(file, sizeof file, "fd/%d", number);
    struct stat about;
    if (number > 8 && lstat(own_path(file), &about) != 0) continue;
    try_open(file, 1);
    snprintf(file, sizeof file, "task/%d/fd/%d", target, number);
    try_open(file, 1);
  }
}

static void try_files(void) {
  static const char* const secrets[] = {"environ",    "maps",    "smaps",    "smaps_rollup", "numa_maps",  "auxv",
                                        "io",         "stack",   "syscall",  "cwd/",         "root/",      "exe",
                                        "map_files/", "pagemap", "fdinfo/0", "fdinfo/1",     "timers",     "wchan",
                                        "ns/pid",     "ns/mnt",  "ns/net",   "ns/user",      "personality"};
  for (size_t i = 0; i < sizeof secrets / sizeof *secrets; ++i) {
    const int fd = open(own_path(secrets[i]), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char byte = '0';
    // What can be opened but not read reveals nothing; for `wchan` and `timers` a `0` means nothing.
    const ssize_t n = fd >= 0 ? read(fd, &byte, 1) : -1;
    const int tells = n > 0 && !(strcmp(secrets[i], "wchan") == 0 && byte == '0');
    if (fd >= 0 && (tells || (n < 0 && (errno == EISDIR || errno == EINVAL))) &&
        !is_open_to_it(fd, own_path(secrets[i]), O_RDONLY))
      reached("read %s", secrets[i]);
    if (fd >= 0) close(fd);
  }
  static const struct {
    const char* file;
    const char* text;
  } settings[] = {{"oom_score_adj", "1000"},
                  {"oom_adj", "15"},
                  {"coredump_filter", "0x7f"},
                  {"comm", "taken"},
                  {"clear_refs", "1"},
                  {"timerslack_ns", "100000"},
                  {"attr/current", "unconfined"},
                  {"attr/exec", "unconfined"},
                  {"uid_map", "0 1000 1"},
                  {"gid_map", "0 1000 1"},
                  {"setgroups", "deny"},
                  {"projid_map", "0 0 1"},
                  {"autogroup", "19"},
                  {"sched", "0"},
                  {"loginuid", "1000"},
                  {"make-it-fail", "1"},
                  {"io", "0"},
                  {"environ", "A=B"},
                  {"cmdline", "taken"},
                  {"limits", "0"}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
    for (int of_task = 0; of_task < 2; ++of_task) {
      char file[60];
      if (of_task)
        snprintf(file, sizeof file, "task/%d/%s", target, settings[i].file);
      else
        snprintf(file, sizeof file, "%s", settings[i].file);
      const int fd = open(own_path(file), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      if (fd >= 0 && write(fd, settings[i].text, strlen(settings[i].text)) > 0) reached("write %s", settings[i].file);
      if (fd >= 0) close(fd);
    }
  }
}

// Where its program begins, which every process has; if the kernel shows it, from its mappings.
static unsigned long an_address(void) {
  char maps[4096];
  unsigned long begin = 0;
  if (read_file(own_path("maps"), maps, sizeof maps) && sscanf(maps, "%lx-", &begin) == 1) return begin;
  return 0x400000;
}

static void try_memory(void) {
  const unsigned long address = an_address();
  char bytes[16] = "";
  for (int of_task = 0; of_task < 2; ++of_task) {
    char file[40];
    if (of_task)
      snprintf(file, sizeof file, "task/%d/mem", target);
    else
      snprintf(file, sizeof file, "mem");
    const int reading = open(own_path(file), O_RDONLY | O_CLOEXEC);
    if (reading >= 0 && pread(reading, bytes, sizeof bytes, (off_t)address) > 0) reached("read mem");
    if (reading >= 0) close(reading);
    const int writing = open(own_path(file), O_RDWR | O_CLOEXEC);
    if (writing >= 0 && (pwrite(writing, bytes, sizeof bytes, (off_t)address) > 0 || errno == EFAULT || errno == EIO))
      reached("write mem");
    if (writing >= 0) close(writing);
  }
  struct iovec local = {bytes, sizeof bytes}, remote = {(void*)address, sizeof bytes};
  if (process_vm_readv(target, &local, 1, &remote, 1, 0) > 0 || errno == EFAULT) reached("process_vm_readv");
  remote = (struct iovec){BAD_POINTER, 1};
  local.iov_len = 1;
  if (process_vm_writev(target, &local, 1, &remote, 1, 0) > 0 || errno == EFAULT) reached("process_vm_writev");
}

static void try_tracing(void) {
  if (ptrace(PTRACE_SEIZE, target, 0, 0) == 0) {
    reached("seize");
    ptrace(PTRACE_INTERRUPT, target, 0, 0);
    waitpid(target, NULL, __WALL);
    ptrace(PTRACE_DETACH, target, 0, 0);
  }
  if (ptrace(PTRACE_ATTACH, target, 0, 0) == 0) {
    reached("attach");
    waitpid(target, NULL, __WALL);
    ptrace(PTRACE_DETACH, target, 0, 0);
  }
  if (syscall(SYS_kcmp, getpid(), target, 0, 0, 0) >= 0) reached("kcmp");
  void* list = NULL;
  size_t length = 0;
  if (syscall(SYS_get_robust_list, target, &list, &length) == 0) reached("get_robust_list");
  if (syscall(SYS_move_pages, target, 0, NULL, NULL, NULL, 0) == 0) reached("move_pages");
  const int fd = (int)syscall(SYS_pidfd_open, target, 0);
  if (fd < 0) return;
  for (int number = 0; number < 16; ++number) {
    const int got = (int)syscall(SYS_pidfd_getfd, fd, number, 0);
    if (got >= 0 || errno == EBADF) reached("pidfd_getfd");
    if (got >= 0) close(got);
  }
  char page[4096] __attribute__((aligned(4096)));
  struct iovec range = {page, sizeof page};
  if (syscall(SYS_process_madvise, fd, &range, 1, MADV_COLD, 0) >= 0) reached("process_madvise");
  if (setns(fd, CLONE_NEWNS) == 0) reached("setns");
  close(fd);
}

static void try_signals(void) {
  // Of these none ends or stops anything by itself.
  static const int signals[] = {0, SIGCONT, SIGURG, SIGWINCH, SIGCHLD};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) {
    if (kill(target, signals[i]) == 0) reached("kill");
    if (syscall(SYS_tgkill, target, target, signals[i]) == 0) reached("tgkill");
    siginfo_t info = {.si_signo = signals[i], .si_code = SI_QUEUE};
    if (syscall(SYS_rt_sigqueueinfo, target, signals[i], &info) == 0) reached("sigqueue");
  }
  const int fd = (int)syscall(SYS_pidfd_open, target, 0);
  if (fd >= 0 && syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0) reached("pidfd_send_signal");
  if (fd >= 0) close(fd);
}

static void try_settings(void) {
  static const int limits[] = {RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_NPROC, RLIMIT_CPU};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    struct rlimit old = {0, 0};
    if (syscall(SYS_prlimit64, target, limits[i], NULL, &old) != 0) continue;
    reached("read its limits");
    if (syscall(SYS_prlimit64, target, limits[i], &old, NULL) == 0) reached("set its limits");
  }
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0 &&
      sched_setaffinity(target, sizeof processors, &processors) == 0)
    reached("sched_setaffinity");
  const struct sched_param plain = {0};
  if (sched_setscheduler(target, SCHED_OTHER, &plain) == 0) reached("sched_setscheduler");
  if (sched_setparam(target, &plain) == 0) reached("sched_setparam");
  // struct sched_attr, as far as every kernel knows it; zero is the plain policy.
  uint32_t attributes[12] = {sizeof attributes};
  if (syscall(SYS_sched_setattr, target, attributes, 0) == 0) reached("sched_setattr");
  const int nice_value = getpriority(PRIO_PROCESS, (id_t)target);
  if (setpriority(PRIO_PROCESS, (id_t)target, nice_value) == 0) reached("setpriority");
  if (syscall(SYS_ioprio_set, 1, target, 2 << 13 | 4) == 0) reached("ioprio_set");
  if (syscall(SYS_migrate_pages, target, 0, NULL, NULL) >= 0) reached("migrate_pages");
}

static void try_process(pid_t pid) {
  target = pid;
  // Signals and settings first: a file worker lives for a moment.
  try_signals();
  try_settings();
  try_tracing();
  try_descriptors();
  try_files();
  try_memory();
}

static void name_it(pid_t pid) {
  char path[60];
  snprintf(path, sizeof path, "/proc/%d/comm", pid);
  if (!read_file(path, target_name, sizeof target_name)) snprintf(target_name, sizeof target_name, "a hidden process");
  target_name[strcspn(target_name, "\n")] = '\0';
}

// A process of the same user is a program, and may be reached. But what it was forked from has left it nothing that can
// be opened.
static void try_newcomer(pid_t pid) {
  char path[60], link[200];
  for (int number = 3; number < highest_fd; ++number) {
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
    const ssize_t n = readlink(path, link, sizeof link - 1);
    if (n < 0) continue;
    link[n] = '\0';
    if (strstr(link, "socket:") == NULL && strstr(link, "memfd:") == NULL) continue;
    const int for_writing = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    const int for_reading = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    link[strcspn(link, "0123456789")] = '\0';
    name_it(pid);
    if (for_writing >= 0 || for_reading >= 0)
      hole("a descriptor was left to %s (process %d): %s", target_name, pid, link);
    if (for_writing >= 0) close(for_writing);
    if (for_reading >= 0) close(for_reading);
  }
}

static int tried_in_all;

static void try_all(const pid_t own[], int own_count) {
  const pid_t newest = fork();
  if (newest == 0) _exit(0);
  waitpid(newest, NULL, 0);
  char seen[400] = "";
  int tried = 0;
  // By number: where processes are hidden, only numbers lead to them.
  for (pid_t pid = newest + 3; pid >= 1; --pid) {
    int is_own = pid == getpid() || pid == newest;
    for (int i = 0; i < own_count; ++i) is_own |= pid == own[i];
    if (is_own || (kill(pid, 0) != 0 && errno == ESRCH)) continue;
    if (!has_more_rights(pid)) {
      try_newcomer(pid);
      continue;
    }
    // It may have ended meanwhile.
    if (kill(pid, 0) != 0 && errno == ESRCH) continue;
    is_control = 0;
    name_it(pid);
    try_process(pid);
    ++tried;
    ++tried_in_all;
    if (strstr(seen, target_name) == NULL && strlen(seen) + strlen(target_name) + 3 < sizeof seen) {
      strcat(seen, seen[0] != '\0' ? ", " : "");
      strcat(seen, target_name);
    }
  }
  char line[500];
  snprintf(line, sizeof line, "tried %s", seen);
  if (is_new(line)) held("%s", line);
}

static int become_root_of_a_namespace(void) {
  const unsigned uid = getuid(), gid = getgid();
  if (unshare(CLONE_NEWUSER) != 0) return 0;
  char map[60];
  int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
  snprintf(map, sizeof map, "0 %u 1", uid);
  if (fd >= 0 && write(fd, map, strlen(map)) < 0) errno = 0;
  if (fd >= 0) close(fd);
  fd = open("/proc/self/gid_map", O_WRONLY | O_CLOEXEC);
  snprintf(map, sizeof map, "0 %u 1", gid);
  if (fd >= 0 && write(fd, map, strlen(map)) < 0) errno = 0;
  if (fd >= 0) close(fd);
  return 1;
}

static int input_has_ended(void) {
  struct pollfd input = {0, POLLIN, 0};
  char byte;
  return poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0;
}

int main(int argc, char** argv) {
  int until_told = 0;
  for (int i = 1; i < argc; ++i) {
    until_told |= strcmp(argv[i], "until-told") == 0;
    if (strcmp(argv[i], "userns") == 0)
      held("a user namespace: %s", become_root_of_a_namespace() ? "its own" : strerror(errno));
  }
  // The child's, as they should not be: of a mode that lets others in.
  int ends[2];
  if (memfd_create("own", 0) < 0 || pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  is_control = 1;
  snprintf(target_name, sizeof target_name, "its own child");
  try_process(child);
  const int rounds_wanted = 3;
  int rounds = 0;
  do {
    try_all(&child, 1);
    ++rounds;
  } while (rounds < rounds_wanted || (until_told && !input_has_ended()));
  kill(child, SIGKILL);
  tried_in_all > 0 ? held("%d processes in %d rounds", tried_in_all, rounds) : hole("found no process to try");
  return done();
}
