// What programs leave without meaning to, or in corners of their own: it is gone in the next lease, or the sandbox is.
#include "support/pools.hpp"

namespace cloche {

namespace {

// A connection that the server closed first: the kernel keeps its port for a minute, although no process has it.
constexpr const char* leave_port_waiting = R"(
import socket
server = socket.create_server(('127.0.0.1', 4719))
client = socket.create_connection(('127.0.0.1', 4719))
server.accept()[0].close()
client.recv(1)
client.close()
server.close()
)";

// Listeners that no process has: they are on their way to a socket that is itself on its way to itself.
constexpr const char* hide_listeners = R"(
import array, socket
server = socket.create_server(('127.0.0.1', 4719))
named = socket.socket(socket.AF_UNIX)
named.bind('\0cloche-mark-hidden')
named.listen()
one, other = socket.socketpair()
fds = array.array('i', [server.fileno(), named.fileno(), other.fileno(), one.fileno()])
one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
)";

// What of it is there: the port, or the name.
constexpr const char* find_sockets = R"(
import socket
try: socket.socket().bind(('127.0.0.1', 4719))
except OSError: print('port')
try: socket.socket(socket.AF_UNIX).connect('\0cloche-mark-hidden'); print('name')
except OSError: pass
)";

Task<std::string> python(pool::Lease& lease, const char* source) {
  ExecSpec spec;
  spec.argv = {"python3", "-c", source};
  auto ran = co_await lease.run(std::move(spec), Deadline::after(100s));
  EXPECT_TRUE(ran) << ran.error().message;
  co_return ran ? ran->out + ran->err : "";
}

// The next lease finds none of it, in the same sandbox or, where it cannot be taken away, in another.
Task<> leave_and_find(pool::Manager& manager, const char* leave) {
  {
    pool::Lease lease = co_await lend(manager);
    const std::string said = co_await python(lease, leave);
    EXPECT_EQ(said, "");
  }
  pool::Lease lease = co_await lend(manager);
  const std::string found = co_await python(lease, find_sockets);
  EXPECT_EQ(found, "");
}

}  // namespace

POOLS(PortThatTheKernelKeeps_IsFreeInTheNextLease) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) { return leave_and_find(manager, leave_port_waiting); });
}

POOLS(ListenersThatNoProcessHas_AreNotFoundInTheNextLease) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) { return leave_and_find(manager, hide_listeners); });
}

// What one user has put into a directory of another.
POOLS(FilesOfSeveralUsers_AreNotFoundInTheNextLease) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) -> Task<> {
    std::string id;
    {
      pool::Lease lease = co_await lend(manager);
      id = lease->id().value;
      const std::string made = co_await shell(lease, "mkdir -m 777 /tmp/a /tmp/a/b && touch /tmp/a/b/mine");
      EXPECT_EQ(made, "");
      ExecSpec spec = ExecSpec::shell("mkdir -m 700 -p /tmp/a/b/c/d && touch /tmp/a/b/c/d/others && echo done");
      spec.uid = 2000;
      spec.gid = 2000;
      spec.cwd = "/tmp";
      auto ran = co_await lease.run(std::move(spec), Deadline::after(60s));
      EXPECT_TRUE(ran && ran->out == "done\n");
    }
    pool::Lease lease = co_await lend(manager);
    EXPECT_EQ(lease->id().value, id) << "it could not be made clean";
    const std::string found = co_await shell(lease, "cd /tmp; echo * .[!.]*");
    EXPECT_EQ(found, "* .[!.]*\n");
  });
}

// Its first thread has ended, and so it looks like a zombie; others go on.
POOLS(ProcessWhoseFirstThreadEnded_EndsWithItsProgram) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string headless =
        "import ctypes, os, threading, time\n"
        "if os.fork() == 0:\n"
        "    threading.Thread(target=time.sleep, args=(1000,)).start()\n"
        "    ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\n"
        "time.sleep(0.5)\n"
        "print('done')\n";
    ExecSpec spec;
    spec.argv = {"python3", "-c", headless};
    auto ran = co_await lease.run(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    if (!ran) co_return;
    EXPECT_EQ(ran->out, "done\n") << ran->err;
    EXPECT_LT(ran->outcome.wall, 30s);
    const std::string left =
        co_await shell(lease, "for p in /proc/[0-9]*; do [ -O $p ] && cat $p/comm; done 2>/dev/null | grep -c python3");
    EXPECT_EQ(left, "0\n");
  });
}

}  // namespace cloche
