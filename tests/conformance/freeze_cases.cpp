// A frozen sandbox: nothing in it advances, it can be thawed, destroyed, and found by another server.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <csignal>
#include <iostream>
#include <sstream>

#include "conformance/conformance.hpp"
#include "core/async/first_of.hpp"

namespace cloche {

namespace {

// Far longer than anything takes that is still on its way.
constexpr auto a_while = 300ms;

Deadline in_time() { return Deadline::after(60s); }

Task<> freeze(LiveSandbox& sandbox) {
  auto frozen = co_await sandbox.freeze(in_time());
  EXPECT_TRUE(frozen) << frozen.error().message;
}

Task<> thaw(LiveSandbox& sandbox) {
  auto thawed = co_await sandbox.thaw(in_time());
  EXPECT_TRUE(thawed) << thawed.error().message;
}

// Until nothing comes any more.
Task<std::string> all_there_is(Exec& exec) {
  std::string printed;
  for (;;) {
    auto first = co_await first_of(exec.next(), pause_for(a_while));
    if (first.index() == 1) co_return printed;
    auto& next = std::get<0>(first);
    const auto* output = next ? std::get_if<Output>(&*next) : nullptr;
    EXPECT_NE(output, nullptr) << "the program has ended";
    if (output == nullptr) co_return printed;
    printed += output->bytes;
  }
}

ExecSpec counter() {
  ExecSpec spec = ExecSpec::shell("i=0; while :; do i=$((i+1)); echo $i; done");
  spec.keep_output = {0};
  spec.stop_output = {0};
  return spec;
}

void expect_all_numbers(const std::string& printed) {
  std::istringstream lines(printed);
  std::uint64_t expected = 1;
  for (std::uint64_t number = 0; lines >> number && !lines.eof(); ++expected) {
    if (number != expected) ADD_FAILURE() << number << " in place of " << expected;
    if (number != expected) return;
  }
  EXPECT_GT(expected, 1u);
}

// Leaves a frozen sandbox with a program in the background, then waits to be killed.
[[noreturn]] void server_that_freezes(const Target& target, const testing_support::Scratch& scratch,
                                      const InstanceId& instance, int report) {
  asio::io_context io{1};
  asio::thread_pool threads{2};
  auto backend = testing_support::make_backend(target, io.get_executor(), threads, scratch, instance);
  if (!backend) ::_exit(1);
  asio::co_spawn(
      io,
      [&]() -> Task<> {
        auto enclosure = co_await (*backend)->create(testing_support::spec_for(target), Deadline::after(120s));
        if (!enclosure) {
          std::cerr << enclosure.error().message << '\n';
          ::_exit(1);
        }
        auto opened = co_await LiveSandbox::open(std::move(*enclosure), Greeting::fresh, in_time());
        ExecSpec background = ExecSpec::shell("echo alive; read x; echo got $x");
        background.lifetime = Lifetime::background;
        background.stdin_mode = Stdin::stream;
        auto started = co_await (*opened)->start(std::move(background), in_time());
        auto frozen = co_await (*opened)->freeze(in_time());
        if (!started || !frozen || ::write(report, "r", 1) != 1) ::_exit(1);
        co_await never();
      },
      [](std::exception_ptr) { ::_exit(1); });
  io.run();
  ::_exit(1);
}

}  // namespace

CONFORMANCE(FrozenProgramThatCounts_DoesNotAdvanceUntilItIsThawed) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = counter();
    auto started = co_await sandbox.start(std::move(spec), in_time());
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    Exec& exec = **started;
    std::string printed;
    for (int i = 0; i < 5; ++i) {
      auto next = co_await exec.next(in_time());
      if (next) printed += std::get<Output>(*next).bytes;
    }
    co_await freeze(sandbox);
    printed += co_await all_there_is(exec);
    const std::string nothing = co_await all_there_is(exec);
    EXPECT_EQ(nothing, "");
    co_await thaw(sandbox);
    // It continues where it was: no number is missing, and none comes twice.
    const std::size_t before = printed.size();
    while (printed.size() < before + 100'000) {
      auto next = co_await exec.next(in_time());
      EXPECT_TRUE(next) << next.error().message;
      if (!next) co_return;
      printed += std::get<Output>(*next).bytes;
    }
    expect_all_numbers(printed);
  });
}

CONFORMANCE(FrozenSandbox_UsesNoTimeOfTheCpu) {
  if (fake_has_no("counters of the kernel")) return;
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("while :; do :; done");
    auto busy = co_await sandbox.start(std::move(spec), in_time());
    EXPECT_TRUE(busy) << busy.error().message;
    co_await freeze(sandbox);
    const auto before = co_await sandbox.resource_use(in_time());
    EXPECT_TRUE(before) << before.error().message;
    if (!before) co_return;
    EXPECT_GT(before->memory.count, 0u);
    co_await pause_for(a_while);
    const auto after = co_await sandbox.resource_use(in_time());
    // An engine that pauses gVisor stops its programs, and not the threads of its kernel.
    const auto grown = after->cpu_time - before->cpu_time;
    if (sandbox.kernel() == Kernel::own) {
      EXPECT_LT(grown, a_while / 10);
    } else {
      EXPECT_EQ(grown, 0us);
    }
    co_await thaw(sandbox);
    const Deadline patience = in_time();
    for (;;) {
      const auto later = co_await sandbox.resource_use(in_time());
      if (later->cpu_time > after->cpu_time || patience.passed()) break;
      co_await pause_for(10ms);
    }
    EXPECT_FALSE(patience.passed()) << "it does not continue";
  });
}

CONFORMANCE(FrozenSandbox_DeadlinesWaitForTheThaw) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await freeze(sandbox);
    const auto thaw_later = [&]() -> Task<Status> {
      co_await pause_for(a_while);
      co_return co_await sandbox.thaw(in_time());
    };
    const auto ping = [&]() -> Task<Status> {
      auto answered = co_await sandbox.ping(Deadline::after(a_while / 3));
      EXPECT_TRUE(answered) << answered.error().message;
      co_return answered;
    };
    const auto list = [&]() -> Task<Status> {
      auto listed = co_await sandbox.list_background(Deadline::after(a_while / 3));
      EXPECT_TRUE(listed) << listed.error().message;
      co_return Status{};
    };
    using asio::experimental::awaitable_operators::operator&&;
    (void)co_await (thaw_later() && ping() && list());
  });
}

CONFORMANCE(FrozenAndThawedAgainAndAgain_Works) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await thaw(sandbox);
    for (int i = 0; i < 3; ++i) {
      co_await freeze(sandbox);
      co_await freeze(sandbox);
      co_await thaw(sandbox);
      co_await thaw(sandbox);
      const auto said = co_await run_shell(sandbox, "echo here");
      EXPECT_EQ(said.out, "here\n");
    }
  });
}

// The fixture destroys it, and finds that nothing is left.
CONFORMANCE(FrozenSandbox_IsDestroyed) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = counter();
    auto started = co_await sandbox.start(std::move(spec), in_time());
    EXPECT_TRUE(started) << started.error().message;
    co_await freeze(sandbox);
  });
}

CONFORMANCE(ServerThatFrozeItIsKilled_AnotherFindsItThawed) {
  if (fake_has_no("life after its server")) return;
  int report[2];
  ASSERT_EQ(::pipe(report), 0);
  const pid_t server = ::fork();
  if (server == 0) server_that_freezes(target(), scratch_, instance_, report[1]);
  ASSERT_GT(server, 0);
  ::close(report[1]);
  char ready = 0;
  EXPECT_EQ(::read(report[0], &ready, 1), 1) << "the first server failed";
  ::close(report[0]);
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);

  run([this]() -> Task<> {
    auto found = co_await backend().recover(in_time());
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_EQ(found.value().size(), 1u);
    if (!found || found->size() != 1) co_return;
    auto opened = co_await LiveSandbox::open(std::move(found->front()), Greeting::takeover, in_time());
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) co_return;
    auto& sandbox = **opened;
    const auto list = co_await sandbox.list_background(in_time());
    EXPECT_EQ(list.value().size(), 1u);
    auto attached = co_await sandbox.attach(list.value().at(0).id, LiveSandbox::AfterEnd::collect);
    (void)co_await (*attached)->write_stdin("through\n");
    (*attached)->close_stdin();
    const auto end = co_await (*attached)->collect(in_time());
    EXPECT_EQ(end.value().out, "alive\ngot through\n");
    // Also what is frozen by a server that lives can be destroyed by it.
    co_await freeze(sandbox);
    auto destroyed = co_await sandbox.destroy(in_time());
    EXPECT_TRUE(destroyed) << destroyed.error().message;
  });
}

}  // namespace cloche
