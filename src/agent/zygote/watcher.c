/* The watcher: a supervisor for the many runs that are short and end by themselves.
 *
 * It is started for each run of a zygote, so it must cost next to nothing: the start of a C library alone takes longer
 * than everything done here. It waits for the program, reports how it ended, and exits. For everything else it becomes
 * the agent's supervisor by exec: a command of the agent, a limit that is reached, and children that the program has
 * left behind. The supervisor finds the same children, the same socket with the command unread, and in its arguments
 * what has happened so far.
 *
 * Arguments: control descriptor, program's pid, agent's path. It is the subreaper and the program's parent already. */
#include <linux/prctl.h>
#include <linux/time_types.h>
#include <signal.h>
#include <stddef.h>
#include <sys/poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../exec/supervisor_words.h"

enum { interrupted = -4, try_again = -11, no_child = -10, kernel_sigset_size = 8 };

static long call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "not for this processor yet"
#endif
}

/* The compiler writes calls of these for what it finds too long. */
void* memset(void* to, int byte, size_t size) {
  for (volatile char* at = to; size > 0; --size) *at++ = (char)byte;
  return to;
}

static _Noreturn void leave(int code) {
  for (;;) call(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

static uint64_t now_us(void) {
  struct __kernel_timespec time = {0, 0};
  call(SYS_clock_gettime, 1 /* monotonic */, (long)&time, 0, 0, 0, 0);
  return (uint64_t)time.tv_sec * 1000000U + (uint64_t)time.tv_nsec / 1000U;
}

/* The CPU time of a process with all its threads. Zero if the kernel does not report it. */
static uint64_t cpu_us_of(int pid) {
  struct __kernel_timespec time = {0, 0};
  const int clock = (int)((~(unsigned)pid) << 3) | 2; /* as clock_getcpuclockid() makes it */
  if (call(SYS_clock_gettime, clock, (long)&time, 0, 0, 0, 0) != 0) return 0;
  return (uint64_t)time.tv_sec * 1000000U + (uint64_t)time.tv_nsec / 1000U;
}

static long parse(const char* text) {
  long number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  return number;
}

static const char* print(uint64_t number, char room[24]) {
  char* at = room + 23;
  *at = '\0';
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  return at;
}

static uint64_t in_us(struct timeval time) { return (uint64_t)time.tv_sec * 1000000U + (uint64_t)time.tv_usec; }

struct Watch {
  const char* control_text;
  const char* program_text;
  const char* agent_path;
  int control;
  int program;
  struct SupervisorLimits limits;
  uint64_t started_us;
  uint64_t spent_us; /* CPU time before it started: that of its fork, which does not belong to the run */
  uint64_t ended_us; /* zero: it runs */
  int status;
};

static void send_report(const struct Watch* watch, const struct SupervisorReport* report) {
  call(SYS_sendto, watch->control, (long)report, sizeof *report, MSG_NOSIGNAL, 0, 0);
}

static _Noreturn void leave_to_supervisor(const struct Watch* watch) {
  char room[6][24];
  const char* argv[] = {watch->agent_path,
                        "supervise",
                        watch->control_text,
                        watch->program_text,
                        print(watch->limits.wall_ms, room[0]),
                        print(watch->limits.cpu_ms, room[1]),
                        print(watch->started_us, room[2]),
                        print(watch->spent_us, room[3]),
                        print(watch->ended_us, room[4]),
                        print((unsigned)watch->status, room[5]),
                        NULL};
  const char* none[] = {NULL};
  call(SYS_execve, (long)watch->agent_path, (long)argv, (long)none, 0, 0, 0);
  /* There is no supervisor to end the whole tree; the agent finds the rest as orphans. */
  call(SYS_kill, watch->program, SIGKILL, 0, 0, 0, 0);
  leave(1);
}

/* Collects every child that has ended; true while there are others. */
static int reap(struct Watch* watch) {
  for (;;) {
    int status = 0;
    const long pid = call(SYS_wait4, -1, (long)&status, WNOHANG | __WALL, 0, 0, 0);
    if (pid == watch->program) {
      watch->status = status;
      watch->ended_us = now_us();
    } else if (pid <= 0 && pid != interrupted) {
      return pid != no_child;
    }
  }
}

static void tell_end(const struct Watch* watch) {
  struct rusage usage = {0};
  call(SYS_getrusage, RUSAGE_CHILDREN, (long)&usage, 0, 0, 0, 0);
  struct SupervisorReport report = {.has_ended = 1, .pid = watch->program, .status = watch->status};
  report.wall_us = watch->ended_us - watch->started_us;
  report.user_us = in_us(usage.ru_utime);
  report.system_us = in_us(usage.ru_stime);
  leave_out(&report, watch->spent_us);
  report.peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024U;
  send_report(watch, &report);
}

/* When a limit may be reached at the soonest, as if the program had very many cores; never: zero. */
static uint64_t next_check_us(const struct Watch* watch) {
  const uint64_t wall = watch->limits.wall_ms * 1000U;
  const uint64_t cpu = watch->limits.cpu_ms * 1000U / 64U;
  const uint64_t soonest = wall != 0 && (cpu == 0 || wall < cpu) ? wall : cpu;
  return soonest == 0 ? 0 : watch->started_us + soonest;
}

static _Noreturn void watch_until_end(struct Watch* watch, int children) {
  for (;;) {
    const int has_children = reap(watch);
    if (watch->ended_us != 0) {
      if (has_children) leave_to_supervisor(watch);
      tell_end(watch);
      leave(0);
    }
    struct pollfd polled[2] = {{children, POLLIN, 0}, {watch->control, POLLIN, 0}};
    struct __kernel_timespec timeout = {0, 0};
    const uint64_t check = next_check_us(watch);
    const uint64_t now = check == 0 ? 0 : now_us();
    if (check != 0 && now >= check) leave_to_supervisor(watch);
    timeout.tv_sec = (long long)((check - now) / 1000000U);
    timeout.tv_nsec = (long long)((check - now) % 1000000U * 1000U);
    const long ready = call(SYS_ppoll, (long)polled, 2, check == 0 ? 0 : (long)&timeout, 0, kernel_sigset_size, 0);
    if (ready < 0 && ready != interrupted) leave_to_supervisor(watch);
    if (ready > 0 && polled[0].revents != 0) {
      struct signalfd_siginfo info[4];
      call(SYS_read, children, (long)info, sizeof info, 0, 0, 0);
    }
    /* The program may have ended as well: the supervisor is notified or detects that. */
    if (ready > 0 && polled[1].revents != 0) leave_to_supervisor(watch);
  }
}

__attribute__((used)) _Noreturn void watcher_main(long* stack) {
  const char** argv = (const char**)(stack + 1);
  if (stack[0] != 4) leave(64);
  struct Watch watch = {.control_text = argv[1], .program_text = argv[2], .agent_path = argv[3]};
  watch.control = (int)parse(argv[1]);
  watch.program = (int)parse(argv[2]);
  call(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
  call(SYS_prctl, PR_SET_NAME, (long)"cloche-super", 0, 0, 0, 0);
  const uint64_t child = 1ULL << (SIGCHLD - 1);
  call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&child, 0, kernel_sigset_size, 0, 0);
  const long children = call(SYS_signalfd4, -1, (long)&child, kernel_sigset_size, SFD_CLOEXEC | SFD_NONBLOCK, 0, 0);
  long got;
  do {
    got = call(SYS_recvfrom, watch.control, (long)&watch.limits, sizeof watch.limits, 0, 0, 0);
  } while (got == interrupted);
  if (got != sizeof watch.limits || children < 0) {
    /* The agent has no use for this run any more. */
    call(SYS_kill, watch.program, SIGKILL, 0, 0, 0, 0);
    leave(1);
  }
  watch.started_us = now_us();
  watch.spent_us = cpu_us_of(watch.program);
  const struct SupervisorReport started = {.pid = watch.program};
  send_report(&watch, &started);
  watch_until_end(&watch, (int)children);
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call watcher_main\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n mov x29, #0\n mov x30, #0\n mov x0, sp\n bl watcher_main\n");
#endif
