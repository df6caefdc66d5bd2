// What the kernel counts beyond a sandbox: one that takes all it gets of everything leaves others and the host theirs.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conformance/conformance.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

namespace {

// Takes as much as it gets of each, prints how much, and keeps it until its input ends.
constexpr const char* greedy = R"(
import ctypes, fcntl, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
class Value(ctypes.Union): _fields_ = [('p', ctypes.c_void_p)]
def take(most, one):
    n = 0
    try:
        while n < most and one(n) >= 0: n += 1
    except OSError: pass
    return n
def asynchronous(n):
    context = ctypes.c_ulong()
    return libc.syscall({'x86_64': 206, 'aarch64': 0}[os.uname().machine], 1000, ctypes.byref(context))
def wide_pipe(n):
    return fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)  # F_SETPIPE_SZ
def timer(n):
    return libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p()))
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
taken = {
    'aio': take(100, asynchronous),
    'fanotify': take(10, lambda n: libc.syscall({'x86_64': 300, 'aarch64': 262}[os.uname().machine], 0, 0)),
    'keys': take(10, lambda n: libc.syscall({'x86_64': 248, 'aarch64': 217}[os.uname().machine], b'user', b'k%d' % n, b'x', 1, -4)),
    'pipes': take(100, wide_pipe),
    'queues': take(5000, lambda n: libc.mq_open(b'/q%d' % n, 0o102, 0o600, None)),
    'inotify': take(2000, lambda n: libc.inotify_init1(0)),
    'terminals': take(2000, lambda n: os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)),
    'timers': take(1000, timer),
    'signals': take(200000, lambda n: libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), Value())),
}
print(taken, flush=True)
sys.stdin.read()
)";

// Whether the host's root still gets one of each.
void expect_host_has_its_own() {
  const UniqueFd notify(::inotify_init1(IN_CLOEXEC));
  EXPECT_TRUE(notify) << "inotify: " << std::strerror(errno);
  const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_TRUE(terminal) << "terminal: " << std::strerror(errno);
  unsigned long context = 0;
  EXPECT_EQ(::syscall(SYS_io_setup, 1000, &context), 0) << "aio: " << std::strerror(errno);
  ::syscall(SYS_io_destroy, context);
}

}  // namespace

CONFORMANCE(NeighbourThatTakesAllItGets_LeavesOthersTheirs) {
  if (fake_has_no("neighbours")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("each sandbox has a kernel of its own that counts these");
  if (target().backend == "docker") CLOCHE_DOES_NOT_APPLY("the uids of an engine are the same for all its sandboxes");
  run([&]() -> Task<> {
    auto first = co_await create(spec());
    auto second = co_await create(spec());
    EXPECT_TRUE(first && second);
    if (!first || !second) co_return;
    ExecSpec hog;
    hog.argv = {"python3", "-c", greedy};
    hog.stdin_mode = Stdin::stream;
    auto held = co_await (*first)->start(std::move(hog), Deadline::after(60s));
    EXPECT_TRUE(held);
    auto said = co_await (*held)->next(Deadline::after(60s));
    const auto* output = said ? std::get_if<ExecOutput>(&*said) : nullptr;
    EXPECT_NE(output, nullptr);
    expect_host_has_its_own();
    ExecSpec modest;
    modest.argv = {"python3", "-c", greedy};
    auto ran = co_await (*second)->run(std::move(modest), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    if (ran && output != nullptr) {
      EXPECT_EQ(ran->out, output->bytes) << ran->err;
      EXPECT_THAT(ran->out, HasSubstr("'aio': 0, 'fanotify': 0, 'keys': 0, "));
      EXPECT_THAT(ran->out, HasSubstr("'terminals': 64,"));
    }
    auto gone = co_await (*first)->destroy(Deadline::after(60s));
    EXPECT_TRUE(gone);
    gone = co_await (*second)->destroy(Deadline::after(60s));
    EXPECT_TRUE(gone);
  });
}

CONFORMANCE(AsynchronousContexts_AreNotToBeHad) {
  if (fake_has_no("walls")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("its contexts are its own");
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(
        sandbox,
        "import ctypes, errno, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "number = {'x86_64': 206, 'aarch64': 0}[os.uname().machine]\n"
        "print(libc.syscall(number, 1, ctypes.byref(ctypes.c_ulong())), errno.errorcode[ctypes.get_errno()])\n");
    EXPECT_EQ(ran.out, "-1 ENOSYS\n") << ran.err;
  });
}

}  // namespace cloche
