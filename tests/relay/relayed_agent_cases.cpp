// The real agent behind its relay: cuts, takeovers, and what ends with what.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <random>

#include "core/async/event.hpp"
#include "core/async/task_group.hpp"
#include "relay/relayed_sandbox.hpp"
#include "sandbox/live_sandbox.hpp"
#include "support/eventually.hpp"
#include "support/missing.hpp"
#include "support/target.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing_support::eventually;

ResumeOptions eager() { return {.patience = 60s, .first_delay = 1ms, .longest_delay = 20ms}; }

class RelayedAgent : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto lack = testing_support::lack_of({"fake", ""})) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
    auto started = RelayedSandbox::start(io_.get_executor(), testing_support::agent_path(), order());
    ASSERT_TRUE(started) << started.error().message;
    relayed_ = std::move(*started);
  }

  virtual RelayedSandbox::Order order() const { return RelayedSandbox::Order::relay_first; }

  void run(std::function<Task<>()> body) {
    std::exception_ptr thrown;
    bool is_done = false;
    asio::co_spawn(
        io_,
        [&]() -> Task<> {
          co_await body();
          is_done = true;
        },
        [&](std::exception_ptr e) { thrown = e; });
    io_.run_for(150s);
    if (thrown) std::rethrow_exception(thrown);
    ASSERT_TRUE(is_done) << "it hangs";
  }
  void in_sandbox(std::function<Task<>(LiveSandbox&)> body) {
    run([this, body]() -> Task<> {
      auto opened = co_await LiveSandbox::open(relayed_->enclosure(eager()), Greeting::fresh, Deadline::after(60s));
      EXPECT_TRUE(opened) << opened.error().message;
      if (!opened) co_return;
      const auto sandbox = std::move(*opened);
      co_await body(*sandbox);
      (void)co_await sandbox->destroy(Deadline::after(60s));
    });
  }
  static Task<RunResult> run_shell(LiveSandbox& sandbox, std::string line) {
    ExecSpec spec = ExecSpec::shell(std::move(line));
    auto ran = co_await sandbox.run(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    co_return ran ? std::move(*ran) : RunResult{};
  }
  // Cuts the connections at random moments until it is cancelled.
  Task<> keep_cutting(std::size_t& cuts) {
    std::mt19937 random(1);
    for (;;) {
      co_await pause_for(std::chrono::milliseconds(5 + random() % 120));
      cuts += relayed_->cut_connections();
    }
  }

  asio::io_context io_;
  std::unique_ptr<RelayedSandbox> relayed_;
};

TEST_F(RelayedAgent, ProgramThatPrints_OutputAndExitCodeAreItsOwn) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, "echo out; echo err >&2; exit 7");
    EXPECT_EQ(ran.out, "out\n");
    EXPECT_EQ(ran.err, "err\n");
    EXPECT_EQ(ran.outcome.exit_code, 7);
  });
}

TEST_F(RelayedAgent, FloodWhileConnectionsAreKilled_ArrivesWhole) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    TaskGroup cutter(io_.get_executor());
    std::size_t cuts = 0;
    cutter.spawn("cutter", [&] { return keep_cutting(cuts); });
    std::string expected;
    for (int i = 1; i <= 2'000'000; ++i) expected += std::to_string(i) + "\n";
    ExecSpec spec = ExecSpec::shell("seq 1 2000000");
    spec.keep_output = mib(32);
    const auto ran = co_await sandbox.run(std::move(spec), Deadline::after(120s));
    // However fast this machine is, connections were cut in the middle of it.
    int rounds = 0;
    for (; cuts < 10 && rounds < 1000; ++rounds) {
      const auto more = co_await run_shell(sandbox, "seq 1 20000");
      EXPECT_EQ(more.out.size(), 108'894u);
    }
    co_await cutter.shut_down();
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran && ran->out == expected) << (ran ? ran->out.size() : 0) << " of " << expected.size() << " bytes";
    EXPECT_TRUE(ran && ran->outcome.success());
    EXPECT_GE(cuts, 10u);
    EXPECT_GT(relayed_->dials(), 10u);
    EXPECT_FALSE(sandbox.lost());
  });
}

TEST_F(RelayedAgent, InputAndOutputWhileConnectionsAreKilled_ArriveWhole) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    TaskGroup cutter(io_.get_executor());
    std::size_t cuts = 0;
    cutter.spawn("cutter", [&] { return keep_cutting(cuts); });
    ExecSpec spec;
    spec.argv = {"cat"};
    spec.stdin_mode = Stdin::bytes;
    spec.keep_output = mib(32);
    for (int i = 0; i < 8'000'000; ++i) spec.input += static_cast<char>(i * 7 + i / 256);
    const std::string expected = spec.input;
    const auto ran = co_await sandbox.run(std::move(spec), Deadline::after(120s));
    co_await cutter.shut_down();
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran && ran->out == expected) << (ran ? ran->out.size() : 0) << " bytes came back";
  });
}

TEST_F(RelayedAgent, ProgramThatRunsDuringALongCut_IsNotDisturbed) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done");
    auto started = co_await sandbox.start(std::move(spec));
    EXPECT_TRUE(started);
    if (!started) co_return;
    for (int i = 0; i < 5; ++i) {
      relayed_->cut_connections();
      co_await pause_for(100ms);
    }
    const auto ran = co_await (*started)->collect(Deadline::after(60s));
    EXPECT_TRUE(ran && ran->out == "1\n2\n3\n4\n5\n6\n7\n8\n");
  });
}

// The agent is not process 1 here.
TEST_F(RelayedAgent, ProcessesThatAProgramLeavesBehind_EndWithIt) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(
        sandbox, "(setsid sh -c 'sleep 12345 & sleep 12345' >/dev/null 2>&1 &) ; sleep 0.2; echo ok");
    EXPECT_EQ(ran.out, "ok\n");
    // One is process 1.
    EXPECT_TRUE(eventually([&] { return relayed_->processes("sleep").size() == 1; }));
    EXPECT_TRUE(eventually([&] { return relayed_->processes("cloche-super").empty(); })) << "not reaped";
  });
}

TEST_F(RelayedAgent, Programs_CanNeitherConnectToTheRelayNorTouchIt) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, R"(
for p in /proc/[0-9]*; do
  name=$(cat $p/comm)
  case $name in cloche-relay|cloche-agent|cloche-dial) ;; *) continue ;; esac
  echo found $name
  kill -0 ${p#/proc/} 2>/dev/null && echo can signal $name
  cat $p/environ >/dev/null 2>&1 && echo can read environment of $name
  ls $p/fd >/dev/null 2>&1 && echo can list descriptors of $name
  dd if=$p/mem of=/dev/null count=1 2>/dev/null && echo can read memory of $name
done
python3 -c '
import socket
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(b"\0cloche-relay")
try:
    s.sendall(b"c" + b"\xc1relay\r\n" + bytes([1, 1]) + bytes(38))
    print("connected", s.recv(100))
except OSError as error:
    print("refused", error.errno in (32, 104))
'
true)");
    EXPECT_NE(ran.out.find("found cloche-relay\n"), std::string::npos) << ran.out << ran.err;
    EXPECT_NE(ran.out.find("found cloche-agent\n"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("can "), std::string::npos) << ran.out;
    EXPECT_TRUE(ran.out.find("connected b''") != std::string::npos || ran.out.find("refused True") != std::string::npos)
        << ran.out << ran.err;
    EXPECT_FALSE(sandbox.lost());
  });
}

TEST_F(RelayedAgent, SecondRelay_IsRejected) {
  const auto second = relayed_->run_agent("relay");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->exit_code, 1);
  EXPECT_EQ(second->out, "");
  EXPECT_NE(second->err.find("a relay is running already"), std::string::npos) << second->err;
  // An agent that starts has children for a moment.
  EXPECT_TRUE(eventually([&] { return relayed_->processes("cloche-agent").size() == 1; })) << "a second agent";
}

TEST_F(RelayedAgent, AnotherServer_TakesTheSandboxOver) {
  in_sandbox([this](LiveSandbox& first) -> Task<> {
    ExecSpec flood = ExecSpec::shell("seq 1 100000000");
    flood.keep_output = mib(256);
    auto started = co_await first.start(std::move(flood));
    EXPECT_TRUE(started);
    const auto some = co_await (*started)->next(Deadline::after(60s));
    EXPECT_TRUE(some);
    auto opened = co_await LiveSandbox::open(relayed_->enclosure(eager()), Greeting::takeover, Deadline::after(60s));
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) co_return;
    const auto second = std::move(*opened);
    const auto ran = co_await run_shell(*second, "echo second");
    EXPECT_EQ(ran.out, "second\n");
    const Deadline soon = Deadline::after(60s);
    while (!first.lost() && !soon.passed()) co_await pause_for(5ms);
    EXPECT_TRUE(first.lost() && first.lost()->code == ErrorCode::sandbox_lost);
    EXPECT_FALSE(second->lost());
    (void)co_await second->destroy(Deadline::after(60s));
  });
}

TEST_F(RelayedAgent, AgentThatIsKilled_IsALostSandboxAndEndsTheRelay) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    const auto agents = relayed_->processes("cloche-agent");
    EXPECT_EQ(agents.size(), 1u);
    ::kill(agents.at(0), SIGKILL);
    const Deadline soon = Deadline::after(60s);
    while (!sandbox.lost() && !soon.passed()) co_await pause_for(5ms);
    EXPECT_TRUE(sandbox.lost() && sandbox.lost()->message.find("its agent ended") != std::string::npos);
    while (!relayed_->processes("cloche-relay").empty() && !soon.passed()) co_await pause_for(5ms);
    EXPECT_TRUE(relayed_->processes("cloche-relay").empty());
    EXPECT_GT(soon.left(), 45s) << "the relay waited for a server that has all";
    // A server that dials now is not kept waiting.
    ResumableChannel late(io_.get_executor(), relayed_->dial(), "relayed", eager());
    std::array<char, 10> room;
    const auto end = co_await late.read_some(room);
    EXPECT_TRUE(end && *end == 0);
    co_await late.shut_down();
  });
}

TEST_F(RelayedAgent, RelayThatIsKilled_EndsTheAgentAndItsPrograms) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("sleep 12345");
    auto started = co_await sandbox.start(std::move(spec));
    EXPECT_TRUE(started);
    const Deadline soon = Deadline::after(60s);
    while (relayed_->processes("sleep").size() < 2 && !soon.passed()) co_await pause_for(5ms);
    const auto relays = relayed_->processes("cloche-relay");
    EXPECT_EQ(relays.size(), 1u);
    ::kill(relays.at(0), SIGKILL);
    while (!sandbox.lost() && !soon.passed()) co_await pause_for(5ms);
    EXPECT_TRUE(sandbox.lost());
    while (!relayed_->processes("cloche-agent").empty() && !soon.passed()) co_await pause_for(5ms);
    EXPECT_TRUE(relayed_->processes("cloche-agent").empty());
    while (relayed_->processes("sleep").size() > 1 && !soon.passed()) co_await pause_for(5ms);
    EXPECT_EQ(relayed_->processes("sleep").size(), 1u);
  });
}

// As in a pod: the agent is process 1, and the relay its child.
class PodAgent : public RelayedAgent {
 protected:
  RelayedSandbox::Order order() const override { return RelayedSandbox::Order::agent_first; }
};

TEST_F(PodAgent, FloodWhileConnectionsAreKilled_ArrivesWhole) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("seq 1 200000");
    spec.keep_output = mib(16);
    auto started = co_await sandbox.start(std::move(spec));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    std::string all;
    for (int i = 0;; ++i) {
      auto event = co_await (*started)->next(Deadline::after(60s));
      EXPECT_TRUE(event) << event.error().message;
      if (!event || std::holds_alternative<Outcome>(*event)) break;
      all += std::get<Output>(*event).bytes;
      if (i % 7 == 0) relayed_->cut_connections();
    }
    std::string expected;
    for (int i = 1; i <= 200'000; ++i) expected += std::to_string(i) + "\n";
    EXPECT_TRUE(all == expected) << all.size() << " of " << expected.size() << " bytes";
  });
}

TEST_F(PodAgent, VolumesAndCapabilities_AreThoseOfASandbox) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox,
                                        "stat -c %u:%g:%a /workspace /tmp /own; ls /own 2>&1 | grep -o denied; "
                                        "grep CapPrm /proc/1/status; grep NoNewPrivs /proc/1/status");
    EXPECT_EQ(ran.out.substr(0, ran.out.find("CapPrm")), "1000:1000:755\n0:0:1777\n0:0:700\ndenied\n") << ran.err;
    const auto at = ran.out.find("CapPrm:");
    EXPECT_NE(at, std::string::npos);
    EXPECT_EQ(std::stoull(ran.out.substr(at + 7), nullptr, 16) & 1U, 0U) << "chown is given up";
    EXPECT_NE(ran.out.find("NoNewPrivs:\t1"), std::string::npos);
  });
}

TEST_F(PodAgent, Reset_EndsProgramsAndSparesRelayAndConnection) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    const auto planted =
        co_await run_shell(sandbox, "echo x > /tmp/left; setsid sleep 12345 >/dev/null 2>&1 & echo ok");
    EXPECT_EQ(planted.out, "ok\n");
    const std::size_t dials = relayed_->dials();
    const auto reset = co_await sandbox.reset(Deadline::after(60s));
    EXPECT_TRUE(reset) << reset.error().message;
    const auto after = co_await run_shell(sandbox, "ls /tmp; echo clean");
    EXPECT_EQ(after.out, "clean\n");
    EXPECT_TRUE(relayed_->processes("sleep").empty());
    EXPECT_EQ(relayed_->processes("cloche-relay").size(), 1U);
    EXPECT_EQ(relayed_->dials(), dials) << "the connection was cut";
  });
}

TEST_F(PodAgent, RelayThatIsKilled_EndsEverything) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("sleep 12345");
    auto started = co_await sandbox.start(std::move(spec));
    EXPECT_TRUE(started);
    const Deadline soon = Deadline::after(60s);
    while (relayed_->processes("sleep").empty() && !soon.passed()) co_await pause_for(5ms);
    const auto relays = relayed_->processes("cloche-relay");
    EXPECT_EQ(relays.size(), 1U);
    if (relays.empty()) co_return;
    ::kill(relays.at(0), SIGKILL);
    while (!relayed_->processes("cloche-agent").empty() && !soon.passed()) co_await pause_for(5ms);
    EXPECT_TRUE(relayed_->processes("cloche-agent").empty());
    EXPECT_TRUE(relayed_->processes("sleep").empty());
  });
}

}  // namespace
}  // namespace cloche
