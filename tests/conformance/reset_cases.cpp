// A reset sandbox is as good as new, and proves it.
#include "conformance/conformance.hpp"

namespace cloche {

namespace {

// Leaves a mark wherever it can.
constexpr const char* planter = R"(
import ctypes, os, socket, subprocess, sys, threading
marks = 0
def attempt(what):
    global marks
    try:
        what(); marks += 1
    except Exception: pass
def file_in(place):
    with open(os.path.join(place, 'mark'), 'w') as f: f.write('planted')
for place in ['/workspace', '/tmp', '/dev/shm', '/var/tmp', '/run', '/home', '/', '/dev', '/dev/mqueue', '/etc', '/usr', '/root', '/var/lib']:
    attempt(lambda: file_in(place))
    attempt(lambda: os.mkdir(os.path.join(place, '.hidden')))
    attempt(lambda: os.symlink('/etc/passwd', os.path.join(place, 'link')))
    attempt(lambda: os.mkfifo(os.path.join(place, 'fifo')))
def deep():
    top = os.getcwd()
    os.mkdir('/workspace/deep'); os.chdir('/workspace/deep')
    for _ in range(1500):
        os.mkdir('d' * 20); os.chdir('d' * 20)
    open('bottom', 'w').close()
    os.chdir(top)
attempt(deep)
def locked():
    os.mkdir('/tmp/locked'); open('/tmp/locked/x', 'w').close(); os.chmod('/tmp/locked', 0)
attempt(locked)
attempt(lambda: os.chmod('/workspace', 0))
libc = ctypes.CDLL(None)
attempt(lambda: libc.shmget(4711, 4096, 0o1666))
attempt(lambda: libc.semget(4712, 1, 0o1666))
attempt(lambda: libc.msgget(4713, 0o1666))
attempt(lambda: libc.mq_open(b'/mark', 0o102, 0o666, None))
attempt(lambda: subprocess.Popen(['setsid', 'sleep', '1000'], stdin=subprocess.DEVNULL))
attempt(lambda: subprocess.Popen('exec 3<>/dev/null; trap "" TERM; while :; do sleep 1; done', shell=True))
attempt(lambda: socket.create_server(('127.0.0.1', 4714)))
print(marks)
)";

// Looks for any of it.
constexpr const char* finder = R"(
import ctypes, os, socket
found = []
for place in ['/workspace', '/tmp', '/dev/shm', '/var/tmp', '/run', '/home', '/', '/dev/mqueue']:
    try: names = os.listdir(place)
    except OSError as e:
        if place in ('/workspace', '/tmp'): found.append(f'{place}: {e}')
        continue
    for name in names:
        if name in ('mark', '.hidden', 'link', 'fifo', 'deep', 'locked') or place in ('/workspace', '/tmp', '/dev/mqueue'):
            found.append(os.path.join(place, name))
libc = ctypes.CDLL(None)
if libc.shmget(4711, 4096, 0) >= 0: found.append('shm')
if libc.semget(4712, 1, 0) >= 0: found.append('sem')
if libc.msgget(4713, 0) >= 0: found.append('msg')
try:
    socket.create_connection(('127.0.0.1', 4714), timeout=2); found.append('port')
except OSError: pass
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        if open(f'/proc/{pid}/comm').read().strip() == 'sleep': found.append(f'process {pid}')
    except OSError: pass
try: open('/workspace/new', 'w').close()
except OSError as e: found.append(f'cannot write: {e}')
print(found)
)";

}  // namespace

CONFORMANCE(ResetAfterPlanting_LeavesNothingToFind) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec plant;
    plant.argv = {"python3", "-c", planter};
    plant.lifetime = Lifetime::background;
    auto started = co_await sandbox.start(std::move(plant), Deadline::after(60s));
    auto attached = co_await sandbox.attach((*started)->background_id(), LiveSandbox::AfterEnd::keep);
    const auto planted = co_await (*attached)->collect(Deadline::after(60s));
    EXPECT_GE(std::atoi(planted.value().out.c_str()), 10) << planted.value().out << planted.value().err;
    // Something that still runs when the reset comes.
    auto running = co_await sandbox.start(ExecSpec::shell("setsid sleep 1000 & sleep 1000"));
    const auto reset = co_await sandbox.reset(Deadline::after(60s));
    EXPECT_TRUE(reset) << reset.error().message;
    const auto found = co_await run_python(sandbox, finder);
    EXPECT_EQ(found.out, "[]\n") << found.err;
  });
}

CONFORMANCE(ResetOfAnUnusedSandbox_IsFine) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    for (int i = 0; i < 3; ++i) {
      const auto reset = co_await sandbox.reset(Deadline::after(60s));
      EXPECT_TRUE(reset) << reset.error().message;
    }
    const auto ran = co_await run_shell(sandbox, "echo works");
    EXPECT_EQ(ran.out, "works\n");
  });
}

CONFORMANCE(ResetUnderAForkBomb_EndsIt) {
  if (fake_has_no("limit on processes")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("a fork bomb ends a whole gVisor sandbox");
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec bomb;
    bomb.argv = {"python3", "-c",
                 "import os\nos.setsid() if os.fork() == 0 else None\nwhile True:\n    try: os.fork()\n    except "
                 "OSError: pass\n"};
    auto started = co_await sandbox.start(std::move(bomb));
    co_await pause_for(300ms);
    const auto reset = co_await sandbox.reset(Deadline::after(60s));
    EXPECT_TRUE(reset) << reset.error().message;
    const auto ran = co_await run_shell(sandbox, "echo works");
    EXPECT_EQ(ran.out, "works\n");
  });
}

}  // namespace cloche
