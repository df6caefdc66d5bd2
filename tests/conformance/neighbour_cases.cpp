// What the kernel counts beyond a sandbox: one that takes all it gets of everything leaves others and the host theirs.
// docs/security.md lists what is counted, and for whom.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "conformance/conformance.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

namespace {

// Takes as much as it gets of each resource, prints how much, and keeps it until its input ends. Each resource has a
// process of its own, so that open files are no bound. Its argument is how many terminals it may take.
constexpr const char* greedy = R"(
import array, ctypes, fcntl, os, select, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == 'x86_64'
class Value(ctypes.Union): _fields_ = [('p', ctypes.c_void_p)]
kept = []
def take(most, one):
    n = 0
    try:
        while n < most and one(n) >= 0: n += 1
    except OSError: pass
    return n
def call(on_x86, on_arm, *arguments): return lambda n: libc.syscall(on_x86 if x86 else on_arm, *arguments)
def keep(thing):
    kept.append(thing)
    return 0
def pipes():
    def wide(n): return fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)  # F_SETPIPE_SZ
    def narrow(n):
        end = os.pipe()[1]
        os.set_blocking(end, False)
        return os.write(end, bytes(4096))
    return {'wide pipes': take(100, wide), 'pipes': take(100, narrow)}
def watches():
    notes = []
    def instance(n):
        notes.append(libc.inotify_init1(0))
        return notes[-1]
    instances = take(500, instance)
    names = []
    for n in range(2000):
        names.append(b'/tmp/watched%d' % n)
        os.close(os.open(names[-1], os.O_CREAT))
    def watch(n): return libc.inotify_add_watch(notes[n // len(names)], names[n % len(names)], 2)
    return {'inotify': instances, 'watches': take(instances * len(names), watch)}
def signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
    timers = take(1000, lambda n: libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())))
    return {'timers': timers, 'signals': take(200000, lambda n: libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), Value()))}
def epoll_watches():
    events = [libc.eventfd(0, 0) for n in range(500)]
    polls = [select.epoll() for n in range(200)]
    def watch(n):
        polls[n // len(events)].register(events[n % len(events)], select.EPOLLIN)
        return 0
    return {'epoll': take(len(events) * len(polls), watch)}
def locks():
    files = [os.open('/tmp/locked%d' % n, os.O_RDWR | os.O_CREAT) for n in range(500)]
    def lock(n):
        fcntl.fcntl(files[n % 500], fcntl.F_SETLK, struct.pack('hhqqi', fcntl.F_WRLCK, 0, n // 500 * 2, 1, 0))
        return 0
    return {'locks': take(50000, lock)}
def in_flight():
    a, b = socket.socketpair()
    keep((a, b))
    a.setblocking(False)
    hundred = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 100))]
    return {'in flight': take(100, lambda n: a.sendmsg([b'x'], hundred))}
def refused():
    return {
        'aio': take(10, lambda n: call(206, 0, 1000, ctypes.byref(ctypes.c_ulong()))(n)),
        'fanotify': take(10, call(300, 262, 0, 0)),
        'keys': take(10, lambda n: call(248, 217, b'user', b'k%d' % n, b'x', 1, -4)(n)),
        'io_uring': take(10, call(425, 425, 8, ctypes.create_string_buffer(120))),
        'userfaultfd': take(10, call(323, 282, 1)),
        'perf': take(10, call(298, 241, ctypes.create_string_buffer(b'\1\0\0\0\x40', 128), 0, -1, -1, 0)),
        'bpf': take(10, call(321, 280, 0, ctypes.create_string_buffer(struct.pack('IIII', 2, 4, 4, 1), 128), 128)),
        'namespaces': take(10, call(272, 97, 0x10000000)),
    }
works = [refused, pipes, watches, signals, epoll_watches, locks, in_flight,
    lambda: {'queues': take(5000, lambda n: libc.mq_open(b'/q%d' % n, 0o102, 0o600, None))},
    lambda: {'terminals': take(int(sys.argv[1]), lambda n: os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))},
    lambda: {'unix sockets': take(450, lambda n: keep(socket.socketpair()))},
    lambda: {'tcp sockets': take(450, lambda n: keep(socket.socket()))},
    lambda: {'memfds': take(450, lambda n: libc.memfd_create(b'm', 0))},
]
hold, held = os.pipe()
def fork(then):
    if os.fork() == 0:
        os.close(held)
        try: then()
        finally:
            os.read(hold, 1)
            os._exit(0)
for work in works:
    out, into = os.pipe()
    def child():
        os.close(out)
        try: text = ''.join('%s=%d\n' % item for item in work().items())
        except Exception as error: text = '%s\n' % error
        os.write(into, text.encode())
        os.close(into)
    fork(child)
    os.close(into)
    while part := os.read(out, 65536): sys.stdout.write(part.decode())
    os.close(out)
def one_more(n):
    fork(lambda: None)
    return 0
print('processes=%d' % take(1000, one_more))
print('end', flush=True)
sys.stdin.read()
)";

// Fills the buffers of connections of the loopback with as much as it can, and prints how many MiB that was.
constexpr const char* fills_buffers = R"(
import socket
kept, sent = [], 0
for n in range(400):
    server = socket.socket()
    server.bind(('127.0.0.1', 0))
    server.listen(1)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    client.settimeout(1)
    try: client.connect(server.getsockname())
    except OSError: break
    client.setblocking(False)
    kept.append((server, client))
    try:
        while sent < 1 << 30: sent += client.send(bytes(65536))
    except OSError: pass
print(sent >> 20)
)";

using Counts = std::map<std::string, int>;

// Lines "name=count". Anything else is a failure of the program.
Counts counts_in(const std::string& text) {
  Counts counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line != "end";) {
    const auto at = line.find('=');
    EXPECT_NE(at, line.npos) << line;
    if (at != line.npos) counts[line.substr(0, at)] = std::atoi(line.c_str() + at + 1);
  }
  return counts;
}

// Terminals of all sandboxes on an engine are the host's, and other tests need some.
ExecSpec greedy_program(const Target& target, const SandboxSpec& sandbox) {
  ExecSpec spec;
  if (sandbox.root) spec.uid = 0;
  spec.argv = {"python3", "-c", greedy, target.backend == "docker" ? "64" : "2000"};
  return spec;
}

// On an engine a uid that is set is one of the host, where the kernel counts for each uid. No other test has these.
std::uint32_t uid_of_its_own(const Target& target) { return target.is_modern() ? 20'012 : 20'002; }

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

struct Taken {
  Counts first;
  Counts second;
};

// The first sandbox takes all it gets and keeps it, while the second takes all it gets.
Task<Taken> take_in_both(const Target& target, LiveSandbox& first, LiveSandbox& second) {
  Taken taken;
  ExecSpec hog = greedy_program(target, first.spec());
  hog.stdin_mode = Stdin::stream;
  auto held = co_await first.start(std::move(hog), Deadline::after(60s));
  EXPECT_TRUE(held) << held.error().message;
  std::string said;
  while (held && !said.ends_with("end\n")) {
    auto event = co_await (*held)->next(Deadline::after(100s));
    const auto* output = event ? std::get_if<Output>(&*event) : nullptr;
    EXPECT_NE(output, nullptr) << said;
    if (output == nullptr) break;
    said += output->bytes;
  }
  taken.first = counts_in(said);
  expect_host_has_its_own();
  ExecSpec other = greedy_program(target, second.spec());
  const auto ran = co_await run_program(second, std::move(other));
  EXPECT_TRUE(ran.out.ends_with("end\n")) << ran.out << ran.err;
  taken.second = counts_in(ran.out);
  co_return taken;
}

// A host with much memory lets each user have a million watches; they take some of the sandbox's.
SandboxSpec with_room_for_watches(SandboxSpec spec) {
  spec.limits.memory = mib(512);
  return spec;
}

void expect_none_of_what_is_rejected(const Counts& counts) {
  for (const char* name : {"aio", "fanotify", "keys", "io_uring", "userfaultfd", "perf", "bpf", "namespaces"}) {
    EXPECT_TRUE(counts.contains(name) && counts.at(name) == 0) << name;
  }
}

}  // namespace

CONFORMANCE(NeighbourThatTakesAllItGets_LeavesOthersTheirs) {
  if (fake_has_no("neighbours")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("each sandbox has a kernel of its own that counts these");
  const SandboxSpec both = with_room_for_watches(spec());
  Taken taken;
  in_two_sandboxes(both, both, [&](LiveSandbox& one, LiveSandbox& other) -> Task<> {
    taken = co_await take_in_both(target(), one, other);
  });
  // The agent's processes are counted too, and come and go.
  for (Counts* counts : {&taken.first, &taken.second}) {
    EXPECT_GT((*counts)["processes"], 30);
    EXPECT_LT((*counts)["processes"], 64);
    counts->erase("processes");
  }
  EXPECT_EQ(taken.first, taken.second);
  expect_none_of_what_is_rejected(taken.second);
  for (const char* name : {"inotify", "watches", "signals", "timers", "queues", "wide pipes", "in flight"}) {
    EXPECT_GT(taken.second[name], 0) << name;
  }
  EXPECT_EQ(taken.second["terminals"], 64);
  EXPECT_EQ(taken.second["epoll"], 100'000);
}

CONFORMANCE(NeighbourThatIsRootAndTakesAllItGets_LeavesOthersTheirs) {
  if (target().backend != "oci" || target().is_gvisor())
    CLOCHE_DOES_NOT_APPLY("no root that the kernel could count for");
  SandboxSpec both = with_room_for_watches(spec());
  both.root = true;
  Taken taken;
  in_two_sandboxes(both, both, [&](LiveSandbox& one, LiveSandbox& other) -> Task<> {
    taken = co_await take_in_both(target(), one, other);
  });
  for (Counts* counts : {&taken.first, &taken.second}) {
    EXPECT_LT((*counts)["processes"], 64);
    counts->erase("processes");
  }
  EXPECT_EQ(taken.first, taken.second);
  expect_none_of_what_is_rejected(taken.second);
  EXPECT_EQ(taken.second["terminals"], 64);
}

// What is counted for a user is shared then, and is not compared.
CONFORMANCE(NeighbourWithTheSameUidOnAnEngine_LeavesWhatIsNotCountedForAUser) {
  if (target().backend != "docker" || target().is_gvisor())
    CLOCHE_DOES_NOT_APPLY("no two sandboxes have the same uid of the host");
  SandboxSpec both = with_room_for_watches(spec());
  both.uid = uid_of_its_own(target());
  Taken taken;
  in_two_sandboxes(both, both, [&](LiveSandbox& one, LiveSandbox& other) -> Task<> {
    taken = co_await take_in_both(target(), one, other);
  });
  EXPECT_GT(taken.second["processes"], 30);
  expect_none_of_what_is_rejected(taken.second);
  // Pipes get smaller, and none fails.
  EXPECT_EQ(taken.second["pipes"], 100);
  EXPECT_EQ(taken.second["terminals"], 64);
  EXPECT_EQ(taken.second["epoll"], 100'000);
  EXPECT_EQ(taken.second["locks"], 50'000);
  for (const char* name : {"unix sockets", "tcp sockets", "memfds"}) EXPECT_EQ(taken.second[name], 450) << name;
}

CONFORMANCE(BuffersOfConnections_AreLimited) {
  if (fake_has_no("limits")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("its connections are its own");
  const bool is_v2 = std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers");
  if (target().backend == "docker" && !is_v2) {
    CLOCHE_DOES_NOT_APPLY("on cgroup v1 no engine limits them; see docs/security.md");
  }
  SandboxSpec wanted = spec();
  wanted.limits.memory = mib(64);
  in_sandbox(wanted, [is_v2](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox, fills_buffers);
    if (is_v2 && ran.outcome.ending == Ending::memory_limit) co_return;  // there they count as memory
    const int sent = std::atoi(ran.out.c_str());
    EXPECT_GT(sent, 0) << ran.err;
    EXPECT_LT(sent, 96);
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
