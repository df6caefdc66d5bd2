// Sandboxes outlive the server that made them, and are found again with their files and programs.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "conformance/conformance.hpp"

namespace cloche {

namespace {

// A server that dies: makes a sandbox, leaves a file, a background program and a flood under way, then waits to be
// killed.
[[noreturn]] void doomed_server(const Target& target, const testing_support::Scratch& scratch,
                                const InstanceId& instance, int report) {
  asio::io_context io{1};
  asio::thread_pool threads{2};
  auto backend = testing_support::make_backend(target, io.get_executor(), threads, scratch, instance);
  if (!backend) {
    std::cerr << backend.error().message << '\n';
    ::_exit(1);
  }
  asio::co_spawn(
      io,
      [&]() -> Task<> {
        auto enclosure = co_await (*backend)->create(testing_support::spec_for(target), Deadline::after(120s));
        if (!enclosure) {
          std::cerr << enclosure.error().message << '\n';
          ::_exit(1);
        }
        auto opened = co_await LiveSandbox::open(std::move(*enclosure), Greeting::fresh, Deadline::after(60s));
        auto& sandbox = **opened;
        auto files = sandbox.files();
        (void)co_await files.write("/workspace/kept", "as it was");
        ExecSpec background = ExecSpec::shell("echo alive; read x; echo got $x");
        background.lifetime = Lifetime::background;
        background.stdin_mode = Stdin::stream;
        auto started = co_await sandbox.start(std::move(background), Deadline::after(60s));
        ExecSpec flood = ExecSpec::shell("yes");
        flood.keep_output = {0};
        flood.stop_output = {0};
        auto flooding = co_await sandbox.start(std::move(flood));
        // In the middle of frames both ways.
        for (int i = 0; i < 20; ++i) (void)co_await (*flooding)->next(Deadline::after(60s));
        if (::write(report, "r", 1) != 1) ::_exit(1);
        for (;;) (void)co_await (*flooding)->next(Deadline::after(60s));
      },
      [](std::exception_ptr) { ::_exit(1); });
  io.run();
  ::_exit(1);
}

}  // namespace

CONFORMANCE(ServerKilled_AnotherTakesItsSandboxesOver) {
  if (fake_has_no("life after its server")) return;
  int report[2];
  ASSERT_EQ(::pipe(report), 0);
  const pid_t server = ::fork();
  if (server == 0) doomed_server(target(), scratch_, instance_, report[1]);
  ASSERT_GT(server, 0);
  ::close(report[1]);
  char ready = 0;
  ASSERT_EQ(::read(report[0], &ready, 1), 1) << "the first server failed";
  ::close(report[0]);
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);

  run([this]() -> Task<> {
    const InstanceId stranger{"stranger-" + instance_.value};
    auto other = testing_support::make_backend(target(), io_.get_executor(), threads_, scratch_, stranger);
    auto none = co_await (*other)->recover(Deadline::after(60s));
    EXPECT_TRUE(none && none->empty()) << "another instance must not see it";

    auto found = co_await backend().recover(Deadline::after(60s));
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_EQ(found.value().size(), 1u);
    if (!found || found->size() != 1) co_return;
    auto opened = co_await LiveSandbox::open(std::move(found->front()), Greeting::takeover, Deadline::after(60s));
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) co_return;
    auto& sandbox = **opened;
    auto files = sandbox.files();
    const auto kept = co_await files.read("/workspace/kept", FileRange{}, mib(1));
    EXPECT_EQ(kept.value().bytes, "as it was");
    const auto list = co_await sandbox.list_background();
    EXPECT_EQ(list.value().size(), 1u);
    auto attached = co_await sandbox.attach(list.value().at(0).id, LiveSandbox::AfterEnd::collect);
    (void)co_await (*attached)->write_stdin("through\n");
    (*attached)->close_stdin();
    const auto end = co_await (*attached)->collect(Deadline::after(60s));
    EXPECT_EQ(end.value().out, "alive\ngot through\n");
    const auto left = co_await run_shell(sandbox, "cat /proc/[0-9]*/comm | grep -c '^yes$'");
    EXPECT_EQ(left.out, "0\n") << "the foreground program of the dead server is ended";
    auto destroyed = co_await sandbox.destroy(Deadline::after(60s));
    EXPECT_TRUE(destroyed) << destroyed.error().message;
  });
}

}  // namespace cloche
