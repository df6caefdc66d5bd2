// Connections of programs to the outside: the agent accepts them, or this process in the sandbox's network. The test
// plays the server's part.
#include "conformance/conformance.hpp"
#include "core/async/task_group.hpp"

namespace cloche {

namespace {

Task<std::unique_ptr<EgressListener>> open_egress(LiveSandbox& sandbox, bool transparent = false) {
  EgressListenSpec spec;
  spec.transparent = transparent;
  auto opened = co_await sandbox.open_egress(spec, Deadline::after(60s));
  EXPECT_TRUE(opened) << opened.error().message;
  co_return opened ? std::move(*opened) : nullptr;
}

Task<std::unique_ptr<TcpConnection>> take_next(EgressListener& offers) {
  const auto offer = co_await offers.next(Deadline::after(60s));
  EXPECT_TRUE(offer) << offer.error().message;
  if (!offer) co_return nullptr;
  auto taken = offers.take(offer->id);
  EXPECT_TRUE(taken) << taken.error().message;
  co_return taken ? std::move(*taken) : nullptr;
}

Task<std::string> read_all(TcpConnection& connection) {
  std::string received;
  for (;;) {
    auto part = co_await connection.read(Deadline::after(60s));
    EXPECT_TRUE(part) << part.error().message;
    if (!part || part->empty()) co_return received;
    received += *part;
  }
}

Task<> write(TcpConnection& connection, std::string bytes) {
  const auto written = co_await connection.write(std::move(bytes), Deadline::after(60s));
  EXPECT_TRUE(written) << written.error().message;
}

// Sends back what comes, as it comes.
Task<> echo(std::unique_ptr<TcpConnection> connection) {
  for (;;) {
    auto part = co_await connection->read(Deadline::after(60s));
    EXPECT_TRUE(part) << part.error().message;
    if (!part || part->empty()) break;
    co_await write(*connection, std::move(*part));
  }
  connection->finish();
}

// Takes and echoes connections until it is cancelled.
Task<> echo_all(EgressListener& offers, TaskGroup& tasks) {
  for (;;) {
    const auto offer = co_await offers.next(Deadline::never());
    if (!offer) co_return;
    auto taken = offers.take(offer->id);
    if (!taken) continue;
    auto connection = std::make_shared<std::unique_ptr<TcpConnection>>(std::move(*taken));
    tasks.spawn("echo", [connection] { return echo(std::move(*connection)); });
  }
}

Task<std::unique_ptr<Exec>> start_python(LiveSandbox& sandbox, std::string code) {
  ExecSpec spec;
  spec.argv = {"python3", "-u", "-c", std::move(code)};
  auto started = co_await sandbox.start(std::move(spec), Deadline::after(60s));
  EXPECT_TRUE(started) << started.error().message;
  co_return started ? std::move(*started) : nullptr;
}

// What it printed on stdout, with its errors behind.
Task<std::string> output_of(std::unique_ptr<Exec> exec) {
  auto ended = co_await exec->collect(Deadline::after(100s));
  EXPECT_TRUE(ended) << ended.error().message;
  co_return ended ? ended->out + ended->err : "";
}

// Until the program has printed a line.
Task<> until_it_speaks(Exec& exec) {
  for (;;) {
    const auto said = co_await exec.next(Deadline::after(60s));
    EXPECT_TRUE(said) << said.error().message;
    const auto* output = said ? std::get_if<Output>(&*said) : nullptr;
    if (output == nullptr || output->bytes.ends_with('\n')) co_return;
  }
}

Task<> expect_clean(Target target, LiveSandbox& sandbox) {
  if (target.is_e2b()) co_return;  // its sandboxes are never reset
  const auto reset = co_await sandbox.reset(Deadline::after(60s));
  if (target.is_gvisor()) {
    // It may still keep ports of connections, and does not show whether it does.
    EXPECT_FALSE(reset);
    co_return;
  }
  EXPECT_TRUE(reset) << reset.error().message;
}

const std::string connect_to_proxy =
    "import hashlib, socket, sys, time\n"
    "def connect(): return socket.create_connection(('127.0.0.1', 3128), timeout=60)\n"
    "def rest(s):\n"
    "    data = b''\n"
    "    while (part := s.recv(65536)): data += part\n"
    "    return data\n";

// Prints how a call ends.
const std::string attempt =
    "def attempt(what):\n"
    "    try: print(what())\n"
    "    except OSError as e: print(type(e).__name__)\n";

}  // namespace

CONFORMANCE(ConnectionToTheProxyPort_IsAStreamAndEachSideEndsItsOwn) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    // First the program ends its side, then, in another connection, the server does.
    auto program = co_await start_python(sandbox, connect_to_proxy +
                                                      "s = connect()\n"
                                                      "s.sendall(b'question'); s.shutdown(socket.SHUT_WR)\n"
                                                      "print(rest(s)); s.close()\n"
                                                      "s = connect()\n"
                                                      "print(rest(s)); s.sendall(b'late'); s.close()\n");
    auto first = co_await take_next(*offers);
    if (!first) co_return;
    EXPECT_EQ(co_await read_all(*first), "question");
    co_await write(*first, "answer");
    first->finish();
    auto second = co_await take_next(*offers);
    if (!second) co_return;
    co_await write(*second, "greeting");
    second->finish();
    EXPECT_EQ(co_await read_all(*second), "late");
    EXPECT_EQ(co_await output_of(std::move(program)), "b'answer'\nb'greeting'\n");
    first.reset();
    second.reset();
    offers.reset();
    co_await expect_clean(target(), sandbox);
  });
}

CONFORMANCE(LargeTransfers_ArriveWholeAtASlowReader) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    auto program = co_await start_python(
        sandbox, connect_to_proxy +
                     "s = connect()\n"
                     "s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)\n"
                     "s.sendall(bytes(range(251)) * 33000); s.shutdown(socket.SHUT_WR)\n"
                     "sum, size = hashlib.sha256(), 0\n"
                     "while (part := s.recv(65536)):\n"
                     "    sum.update(part); size += len(part); time.sleep(0.001)\n"
                     "print(size, sum.hexdigest() == hashlib.sha256(bytes(range(251)) * 33000).hexdigest())\n");
    auto connection = co_await take_next(*offers);
    if (!connection) co_return;
    std::string received = co_await read_all(*connection);
    EXPECT_EQ(received.size(), 251U * 33000);
    co_await write(*connection, std::move(received));
    // Given up as soon as all is sent: the program still reads it.
    connection->finish();
    connection.reset();
    EXPECT_EQ(co_await output_of(std::move(program)), "8283000 True\n");
  });
}

CONFORMANCE(HundredsOfConnections_AreServedAtOnce) {
  auto many = spec();
  many.limits.open_files = 1024;
  in_sandbox(many, [this](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    TaskGroup tasks(co_await asio::this_coro::executor);
    tasks.spawn("offers", [&] { return echo_all(*offers, tasks); });
    auto program =
        co_await start_python(sandbox, connect_to_proxy +
                                           "all = [connect() for i in range(300)]\n"
                                           "for i, s in enumerate(all): s.sendall(b'%03d' % i)\n"
                                           "print(sum(s.recv(3) == b'%03d' % i for i, s in enumerate(all)))\n"
                                           "for s in all: s.shutdown(socket.SHUT_WR)\n"
                                           "print(sum(rest(s) == b'' for s in all))\n");
    EXPECT_EQ(co_await output_of(std::move(program)), "300\n300\n");
    co_await tasks.shut_down();
    offers.reset();
    co_await expect_clean(target(), sandbox);
  });
}

CONFORMANCE(OffersThatAreNotAnswered_AreLimitedAndTheOthersWait) {
  auto many = spec();
  many.limits.open_files = 1024;
  in_sandbox(many, [](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    auto program = co_await start_python(sandbox, connect_to_proxy +
                                                      "all = [connect() for i in range(300)]\n"
                                                      "print('connected')\n"
                                                      "print(sum(s.recv(1) == b'' for s in all))\n");
    co_await until_it_speaks(*program);
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < wire::max_egress_offers; ++i) {
      const auto offer = co_await offers->next(Deadline::after(60s));
      EXPECT_TRUE(offer) << offer.error().message;
      if (offer) ids.push_back(offer->id);
    }
    // The agent has answered everything before this, so it has offered no more.
    const auto here = co_await sandbox.ping(Deadline::after(60s));
    EXPECT_TRUE(here);
    const auto none = co_await offers->next(Deadline::after(0s));
    EXPECT_FALSE(none);
    std::size_t served = 0;
    while (served < 300) {
      if (ids.empty()) {
        const auto offer = co_await offers->next(Deadline::after(60s));
        EXPECT_TRUE(offer) << offer.error().message;
        if (!offer) co_return;
        ids.push_back(offer->id);
      }
      auto connection = offers->take(ids.back());
      ids.pop_back();
      EXPECT_TRUE(connection);
      if (connection) (*connection)->finish();
      ++served;
    }
    EXPECT_EQ(co_await output_of(std::move(program)), "300\n");
  });
}

CONFORMANCE(ConnectionThatIsRefused_IsReset) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    auto program = co_await start_python(sandbox, connect_to_proxy + attempt + "attempt(lambda: connect().recv(1))\n");
    const auto offer = co_await offers->next(Deadline::after(60s));
    EXPECT_TRUE(offer && offer->host.empty() && offer->port == 0);
    if (offer) offers->refuse(offer->id);
    EXPECT_EQ(co_await output_of(std::move(program)), "ConnectionResetError\n");
  });
}

CONFORMANCE(ConnectionThatIsGivenUp_IsReset) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    auto program = co_await start_python(sandbox, connect_to_proxy + attempt + "attempt(lambda: connect().recv(1))\n");
    auto connection = co_await take_next(*offers);
    connection.reset();
    EXPECT_EQ(co_await output_of(std::move(program)), "ConnectionResetError\n");
  });
}

CONFORMANCE(ListenerThatIsClosed_TakesEveryConnectionWithIt) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    auto program = co_await start_python(sandbox, connect_to_proxy + attempt +
                                                      "taken, ended, pending = connect(), connect(), connect()\n"
                                                      "print(ended.recv(1))\n"
                                                      "attempt(lambda: taken.recv(1))\n"
                                                      "attempt(lambda: pending.recv(1))\n"
                                                      "attempt(connect)\n"
                                                      "deadline = time.time() + 30\n"
                                                      "while True:\n"
                                                      "    try: socket.socket().bind(('127.0.0.1', 3128)); break\n"
                                                      "    except OSError: assert time.time() < deadline\n"
                                                      "print('free')\n");
    auto taken = co_await take_next(*offers);
    auto ended = co_await take_next(*offers);
    const auto pending = co_await offers->next(Deadline::after(60s));
    EXPECT_TRUE(pending);
    if (!taken || !ended) co_return;
    ended->finish();
    co_await until_it_speaks(*program);
    offers.reset();
    const auto read = co_await taken->read(Deadline::after(60s));
    EXPECT_FALSE(read);
    EXPECT_EQ(co_await output_of(std::move(program)),
              "ConnectionResetError\nConnectionResetError\nConnectionRefusedError\nfree\n");
    co_await expect_clean(target(), sandbox);
    auto again = co_await open_egress(sandbox);
    EXPECT_TRUE(again);
  });
}

// Where the kernel is the host's, no process inside has a part in the connection but the program.
CONFORMANCE(ConnectionOfAProgram_IsASocketOfTheServerWhereThatIsPossible) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    auto program = co_await start_python(
        sandbox, connect_to_proxy + attempt + "s = connect(); print('connected'); attempt(lambda: s.recv(1))\n");
    auto connection = co_await take_next(*offers);
    if (!connection) co_return;
    const bool is_possible = target().backend == "oci" && !target().is_gvisor();
    EXPECT_EQ(connection->socket() != nullptr, is_possible);
    co_await until_it_speaks(*program);
    if (!is_possible) co_return;
    // Every descriptor of every process that one of the same user can look at: only the program has one of 3128.
    const auto seen = co_await run_python(
        sandbox,
        "import glob, os\n"
        "inodes = {l.split()[9] for l in open('/proc/net/tcp').read().splitlines()[1:] if ':0C38' in l.split()[1]}\n"
        "links = set()\n"
        "for p in glob.glob('/proc/[0-9]*/fd/*'):\n"
        "    try: links.add(os.readlink(p))\n"
        "    except OSError: pass\n"
        "print(len(inodes) >= 2, any(f'socket:[{i}]' in links for i in inodes))\n");
    EXPECT_EQ(seen.out, "True False\n") << seen.err;
    connection.reset();
    EXPECT_EQ(co_await output_of(std::move(program)), "ConnectionResetError\n");
  });
}

CONFORMANCE(SandboxThatDies_TakesItsConnectionsWithIt) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    auto program = co_await start_python(sandbox, connect_to_proxy + "s = connect(); s.recv(1)\n");
    auto connection = co_await take_next(*offers);
    if (!connection) co_return;
    sandbox.cut_off({ErrorCode::sandbox_lost, "the test ends it"});
    const auto next = co_await offers->next(Deadline::after(60s));
    EXPECT_TRUE(!next && next.error().code == ErrorCode::sandbox_lost);
    const auto read = co_await connection->read(Deadline::after(60s));
    EXPECT_FALSE(read);
    connection.reset();
    offers.reset();
  });
}

CONFORMANCE(ResetWithOpenEgress_Fails) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto offers = co_await open_egress(sandbox);
    if (!offers) co_return;
    const auto reset = co_await sandbox.reset(Deadline::after(60s));
    EXPECT_FALSE(reset);
    if (!reset) {
      EXPECT_THAT(reset.error().message, HasSubstr("egress"));
    }
  });
}

CONFORMANCE(EgressThatIsOpenOrWhosePortIsInUse_CannotBeOpened) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    EgressListenSpec spec;
    {
      auto offers = co_await open_egress(sandbox);
      const auto second = co_await sandbox.open_egress(spec, Deadline::after(60s));
      EXPECT_FALSE(second);
      if (!second) {
        EXPECT_EQ(second.error().code, ErrorCode::already_exists) << second.error().message;
      }
    }
    auto program = co_await start_python(sandbox,
                                         "import socket, sys\n"
                                         "s = socket.create_server(('127.0.0.1', 3128)); print('up')\n"
                                         "s.accept()\n");
    co_await until_it_speaks(*program);
    const auto refused = co_await sandbox.open_egress(spec, Deadline::after(60s));
    EXPECT_FALSE(refused);
    if (!refused) {
      EXPECT_EQ(refused.error().code, ErrorCode::already_exists) << refused.error().message;
      EXPECT_THAT(refused.error().message, HasSubstr("3128"));
    }
    spec.proxy_port = 3130;
    const auto elsewhere = co_await sandbox.open_egress(spec, Deadline::after(60s));
    EXPECT_TRUE(elsewhere) << elsewhere.error().message;
  });
}

CONFORMANCE(EgressThatIsNotOpen_ListensNowhere) {
  auto prepared = spec();
  prepared.egress = true;
  in_sandbox(prepared, [](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(
        sandbox, "import socket\n" + attempt +
                     "for port in 3128, 3129: attempt(lambda: socket.create_connection(('127.0.0.1', port)))\n"
                     "attempt(lambda: socket.create_connection(('192.0.2.1', 443), timeout=10))\n"
                     "attempt(lambda: socket.getaddrinfo('example.test', 443))\n"
                     "def ask():\n"
                     "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10)\n"
                     "    s.connect(('127.0.0.1', 3153)); s.send(b'x'); return s.recv(1)\n"
                     "attempt(ask)\n");
    const std::string out_there = sandbox.has_transparent_egress() ? "ConnectionRefusedError\n" : "OSError\n";
    EXPECT_EQ(ran.out,
              "ConnectionRefusedError\nConnectionRefusedError\n" + out_there + "gaierror\nConnectionRefusedError\n")
        << ran.err;
  });
}

// Transparently: by the rules of the sandbox's own network, where the kernel has one for it.

CONFORMANCE(ProgramWithoutAProxy_IsOfferedByTheNameThatItMeant) {
  if (target().backend != "oci" || target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("connections are not redirected here");
  auto prepared = spec();
  prepared.egress = true;
  in_sandbox(prepared, [this](LiveSandbox& sandbox) -> Task<> {
    if (!sandbox.has_transparent_egress()) {
      [] { CLOCHE_CANNOT_TEST("nft", "connections cannot be redirected on this host; see `cloche doctor`"); }();
      co_return;
    }
    auto offers = co_await open_egress(sandbox, true);
    if (!offers) co_return;
    struct Meant {
      std::string host;
      std::uint16_t port;
    };
    static const std::vector<Meant> all = {{"example.test", 4321}, {"other.example.test", 443},
                                           {"example.test", 80},   {"192.0.2.7", 443},
                                           {"10.0.0.1", 53},       {"2001:db8::7", 8443}};
    for (const auto& [host, port] : all) {
      auto program = co_await start_python(
          sandbox, "import socket\ns = socket.create_connection(('" + host + "', " + std::to_string(port) +
                       "), timeout=60)\ns.sendall(b'hi'); s.shutdown(socket.SHUT_WR); print(s.recv(10))\n");
      const auto offer = co_await offers->next(Deadline::after(60s));
      EXPECT_TRUE(offer) << offer.error().message;
      if (!offer) co_return;
      EXPECT_EQ(offer->host, host);
      EXPECT_EQ(offer->port, port);
      auto connection = offers->take(offer->id);
      if (connection) co_await echo(std::move(*connection));
      EXPECT_EQ(co_await output_of(std::move(program)), "b'hi'\n") << host;
    }
    offers.reset();
    co_await expect_clean(target(), sandbox);
  });
}

CONFORMANCE(ProgramWithoutAProxy_ReachesNothingElse) {
  if (target().backend != "oci" || target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("connections are not redirected here");
  auto prepared = spec();
  prepared.egress = true;
  prepared.limits.open_files = 1024;
  in_sandbox(prepared, [this](LiveSandbox& sandbox) -> Task<> {
    if (!sandbox.has_transparent_egress()) {
      [] { CLOCHE_CANNOT_TEST("nft", "connections cannot be redirected on this host; see `cloche doctor`"); }();
      co_return;
    }
    auto offers = co_await open_egress(sandbox, true);
    if (!offers) co_return;
    // A name that was never asked for, another protocol, the listener's own port: none of them is offered.
    bool is_offered = false;
    TaskGroup waiting(co_await asio::this_coro::executor);
    waiting.spawn("no offer", [&]() -> Task<> {
      const auto offer = co_await offers->next(Deadline::never());
      is_offered = offer.has_value();
    });
    const auto ran = co_await run_python(
        sandbox,
        "import socket\n" + attempt +
            "attempt(lambda: socket.create_connection(('198.19.9.9', 443), timeout=10).recv(1))\n"
            "attempt(lambda: socket.create_connection(('127.0.0.1', 3129), timeout=10).recv(1))\n"
            "def send():\n"
            "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.1', 443))\n"
            "    return s.send(b'x')\n"
            "attempt(send)\n"
            "attempt(lambda: socket.getaddrinfo('localhost', 443, socket.AF_INET)[0][4][0])\n"
            "attempt(lambda: socket.getaddrinfo('a.test', 443, socket.AF_INET, flags=socket.AI_ADDRCONFIG)[0][4])\n"
            "server = socket.create_server(('127.0.0.1', 8000))\n"
            "c = socket.create_connection(('127.0.0.1', 8000)); s = server.accept()[0]\n"
            "s.sendall(b'own'); print(c.recv(3))\n");
    EXPECT_EQ(ran.out,
              "ConnectionResetError\nConnectionResetError\nPermissionError\n127.0.0.1\n('198.18.0.1', 443)\nb'own'\n")
        << ran.err;
    EXPECT_FALSE(is_offered);
    co_await waiting.shut_down();
    // Source ports are chosen by destination: the same one serves many, and each is told from the others.
    TaskGroup tasks(co_await asio::this_coro::executor);
    tasks.spawn("offers", [&] { return echo_all(*offers, tasks); });
    const auto many = co_await run_python(
        sandbox,
        "import socket\n"
        "all = [socket.create_connection((f'192.0.2.{i % 250}', 1000 + i), timeout=60) for i in range(500)]\n"
        "for i, s in enumerate(all): s.sendall(b'%03d' % i)\n"
        "print(sum(s.recv(3) == b'%03d' % i for i, s in enumerate(all)))\n");
    EXPECT_EQ(many.out, "500\n") << many.err;
    co_await tasks.shut_down();
    offers.reset();
    co_await expect_clean(target(), sandbox);
  });
}

}  // namespace cloche
