// The library for coroutines, as its users see it.
#include "cloche/async.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <functional>

#include "library/library.hpp"

namespace cloche {
namespace {

using async::Task;
using testing::IsEmpty;

class Async : public Library {
 protected:
  // Runs a coroutine with a sandbox; an exception fails the test. All is gone when it returns.
  void in_sandbox(std::function<Task<>(async::Sandbox&)> body) {
    run([&](async::Engine& engine) -> Task<> {
      SandboxSpec wanted = spec();
      auto sandbox = co_await engine.create(std::move(wanted));
      co_await body(sandbox);
      co_await sandbox.destroy();
    });
  }

  void run(std::function<Task<>(async::Engine&)> body) {
    async::Engine engine(io_.get_executor(), options());
    std::exception_ptr failure;
    boost::asio::co_spawn(io_, [&] { return body(engine); }, [&](std::exception_ptr error) { failure = error; });
    io_.run();
    io_.restart();
    boost::asio::co_spawn(io_, [&] { return engine.close(); }, [](std::exception_ptr) {});
    io_.run();
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }

  boost::asio::io_context io_{1};
};

// Output up to the end of a line.
Task<std::string> read_line(async::Exec& exec) {
  std::string line;
  while (!line.ends_with('\n')) {
    auto piece = co_await exec.next();
    const auto* output = std::get_if<async::Output>(&piece);
    if (output == nullptr) break;
    line += output->bytes;
  }
  co_return line;
}

Task<Outcome> wait_for_end(async::Exec& exec) {
  for (;;) {
    auto piece = co_await exec.next();
    if (auto* outcome = std::get_if<Outcome>(&piece)) co_return std::move(*outcome);
  }
}

TEST_F(Async, Conversation_GoesLineByLine) {
  in_sandbox([](async::Sandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("while read line; do echo \"<$line>\"; done; echo end");
    spec.stdin_mode = Stdin::stream;
    auto exec = co_await sandbox.start(std::move(spec));
    for (const std::string word : {"one", "two"}) {
      co_await exec.write_stdin(word + "\n");
      const std::string line = co_await read_line(exec);
      EXPECT_EQ(line, "<" + word + ">\n");
    }
    exec.close_stdin();
    const std::string last = co_await read_line(exec);
    EXPECT_EQ(last, "end\n");
    const Outcome outcome = co_await wait_for_end(exec);
    EXPECT_TRUE(outcome.success());
  });
}

TEST_F(Async, StartWithInputThatOnlyRunSends_IsRefused) {
  in_sandbox([](async::Sandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("cat");
    spec.stdin_mode = Stdin::bytes;
    bool refused = false;
    try {
      auto exec = co_await sandbox.start(std::move(spec));
    } catch (const SandboxArgumentError&) {
      refused = true;
    }
    EXPECT_TRUE(refused);
  });
}

TEST_F(Async, StoppedOrSignalled_TheOutcomeSaysWhich) {
  in_sandbox([](async::Sandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("echo ready; sleep 1000");
    ExecSpec again = spec;
    auto stopped = co_await sandbox.start(std::move(spec));
    (void)co_await read_line(stopped);
    stopped.stop();
    const Outcome cancelled = co_await wait_for_end(stopped);
    EXPECT_EQ(cancelled.ending, Ending::cancelled);

    auto signalled = co_await sandbox.start(std::move(again));
    (void)co_await read_line(signalled);
    signalled.signal(SIGTERM);
    const Outcome ended = co_await wait_for_end(signalled);
    EXPECT_EQ(ended.ending, Ending::signalled);
    EXPECT_EQ(ended.signal, SIGTERM);
  });
}

TEST_F(Async, ExecLetGo_StopsItsProgram) {
  in_sandbox([](async::Sandbox& sandbox) -> Task<> {
    {
      ExecSpec spec = ExecSpec::shell("echo ready; exec sleep 4711");
      auto exec = co_await sandbox.start(std::move(spec));
      (void)co_await read_line(exec);
    }
    ExecSpec look;
    look.argv = {"python3", "-c",
                 "import glob, time\n"
                 "def alive():\n"
                 "    for p in glob.glob('/proc/[0-9]*/cmdline'):\n"
                 "        try:\n"
                 "            if b'\\x004711' in open(p, 'rb').read(): return True\n"
                 "        except OSError: pass\n"
                 "while alive(): time.sleep(0.01)\n"
                 "print('gone')\n"};
    look.wall_limit = std::chrono::seconds(20);
    const auto looked = co_await sandbox.run(std::move(look));
    EXPECT_EQ(looked.out, "gone\n");
  });
}

TEST_F(Async, BackgroundExec_IsFoundAgainAndTellsItsEnd) {
  in_sandbox([](async::Sandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("echo kept; until [ -e go ]; do sleep 0.01; done; exit 5");
    spec.lifetime = Lifetime::background;
    std::uint64_t id = 0;
    {
      auto exec = co_await sandbox.start(std::move(spec));
      id = exec.background_id();
    }
    const auto execs = co_await sandbox.background();
    EXPECT_EQ(execs.size(), 1u);
    EXPECT_EQ(execs.at(0).id, id);
    EXPECT_TRUE(execs.at(0).running);
    auto attached = co_await sandbox.attach(id);
    const std::string line = co_await read_line(attached);
    EXPECT_EQ(line, "kept\n");
    co_await sandbox.write_file("go", "");
    const Outcome outcome = co_await wait_for_end(attached);
    EXPECT_EQ(outcome.exit_code, 5);
  });
}

TEST_F(Async, SandboxLetGo_IsEndedByClose) {
  std::string id;
  run([&](async::Engine& engine) -> Task<> {
    SandboxSpec wanted = spec();
    auto sandbox = co_await engine.create(std::move(wanted));
    id = sandbox.id();
    EXPECT_FALSE(cgroups_of(id).empty());
  });
  EXPECT_THAT(cgroups_of(id), IsEmpty());
}

}  // namespace
}  // namespace cloche
