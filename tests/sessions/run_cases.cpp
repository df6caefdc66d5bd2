// Runs in a session, with every backend and runtime: what cancelled runs leave, how runs of an earlier process are
// found again, and what is reported for runs that end with their session.
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "session/runs/run_directory.hpp"
#include "session/runs/runs.hpp"
#include "sessions/with_store.hpp"

namespace cloche {

namespace {

using session::BackgroundRun;
using session::Code;
using session::EarlierRuns;
using session::EndMode;
using session::RunObserver;
using session::RunRequest;
using session::RunResult;
using session::Runs;
using session::SessionStore;
using session::SessionUse;
using session::ShellLine;
using testing::IsEmpty;

RunRequest code(std::string text) {
  RunRequest request;
  request.what = Code{"python", std::move(text)};
  return request;
}

RunRequest line(std::string text) {
  RunRequest request;
  request.what = ShellLine{std::move(text)};
  return request;
}

Task<SessionUse> use(SessionStore& store) {
  auto used = co_await store.use(tenant(), "s1", soon());
  EXPECT_TRUE(used) << used.error().message;
  if (!used) throw std::runtime_error("no session: " + used.error().message);
  co_return std::move(*used);
}

struct Ran : RunResult {
  cloche::RunResult printed;
};

Task<Ran> run_to_end(SessionUse& session, RunRequest request) {
  Ran ended;
  RunObserver observer;
  observer.output = [&](const Output& piece) { ended.printed.add(piece); };
  auto ran = co_await session::run_in_session(*session, languages(), std::move(request), std::move(observer), soon());
  EXPECT_TRUE(ran) << ran.error().message;
  if (ran) static_cast<RunResult&>(ended) = std::move(*ran);
  co_return ended;
}

Task<std::string> print_of(SessionUse& session, std::string text) {
  RunRequest request = line(std::move(text));
  const auto ran = co_await run_to_end(session, std::move(request));
  co_return ran.printed.out;
}

// Directories of runs in /tmp.
Task<std::vector<std::string>> run_directories(SessionUse& session) {
  auto files = session->lease()->files();
  const auto list = co_await files.list("/tmp");
  std::vector<std::string> names;
  for (const FileEntry& entry : list.value().entries) {
    if (session::is_run_directory(entry.path)) names.push_back(entry.path);
  }
  co_return names;
}

// Until the sandbox has none with this name.
Task<bool> is_gone(SessionUse& session, std::string name) {
  const Deadline patience = Deadline::after(60s);
  while (!patience.passed()) {
    const std::string count =
        co_await print_of(session, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '" + name + "'");
    if (count == "0\n") co_return true;
    co_await pause_for(20ms);
  }
  co_return false;
}

}  // namespace

class SessionRuns : public WithStore {};

TEST_P(SessionRuns, CancelledRun_TakesItsProgramAndItsDirectoryAlong) {
  in_store([](SessionStore& store) -> Task<> {
    SessionUse session = co_await use(store);
    using asio::experimental::awaitable_operators::operator||;
    Event printed(session->executor());
    RunObserver observer;
    observer.output = [&](const Output&) { printed.notify(); };
    RunRequest request = code("import sys, time\nprint('on', flush=True)\nsys.argv\ntime.sleep(1000)\n");
    co_await (session::run_in_session(*session, languages(), std::move(request), std::move(observer), soon()) ||
              printed.wait(soon()));
    const bool gone = co_await is_gone(session, "[.]run-");
    EXPECT_TRUE(gone);
    const auto left = co_await run_directories(session);
    EXPECT_THAT(left, IsEmpty());
  });
}

TEST_P(SessionRuns, Output_IsToldAsItComes) {
  in_store([](SessionStore& store) -> Task<> {
    SessionUse session = co_await use(store);
    std::string told;
    RunObserver observer;
    observer.output = [&](const Output& output) {
      told += (output.stream == Stream::out ? "o:" : "e:") + output.bytes;
    };
    RunRequest request = line("echo one; sleep 0.2; echo two >&2; sleep 0.2; cat");
    request.input = "three";
    auto ran = co_await session::run_in_session(*session, languages(), std::move(request), std::move(observer), soon());
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(told, "o:one\ne:two\no:three");
  });
}

// What a restarted server meets: programs and directories that its own process knows nothing of.
TEST_P(SessionRuns, ProgramsOfAnEarlierProcess_AreRunsAgain) {
  in_store([](SessionStore& store) -> Task<> {
    SessionUse session = co_await use(store);
    RunRequest long_one = code("print('still here', flush=True)\nimport time\ntime.sleep(1000)\n");
    auto going = co_await session::start_in_background(*session, languages(), std::move(long_one), soon());
    EXPECT_TRUE(going) << going.error().message;
    RunRequest short_one = line("echo over; exit 3");
    auto over = co_await session::start_in_background(*session, languages(), std::move(short_one), soon());
    EXPECT_TRUE(over) << over.error().message;
    if (!going || !over) co_return;
    const std::string going_id = "b" + std::to_string(std::get<BackgroundRun>(*going).id);
    const std::string over_id = "b" + std::to_string(std::get<BackgroundRun>(*over).id);
    auto files = session->lease()->files();
    (void)co_await files.write("/tmp/.run-0123456789abcdef/main.py", "left behind");

    Runs runs(*session, EarlierRuns::to_be_found);  // as the next process has it
    auto recovered = co_await runs.recover(session.shared(), soon());
    EXPECT_TRUE(recovered) << recovered.error().message;
    EXPECT_TRUE(runs.busy());
    auto ended = runs.find(over_id).value();
    const bool has_ended = co_await ended->wait(soon());
    EXPECT_TRUE(has_ended);
    EXPECT_EQ(ended->log().output(Stream::out), "over\n");
    const auto* result = session::result_in(*ended->log().how());
    EXPECT_EQ(result == nullptr ? -1 : result->outcome.exit_code, 3);
    auto run = runs.find(going_id).value();
    EXPECT_TRUE(run->running());
    const Deadline patience = Deadline::after(60s);
    while (run->log().output(Stream::out).empty() && !patience.passed()) co_await pause_for(20ms);
    EXPECT_EQ(run->log().output(Stream::out), "still here\n");
    const auto kept = co_await run_directories(session);
    EXPECT_EQ(kept.size(), 2u) << "one of them may be the running program's";

    const auto removed = co_await runs.remove(going_id, soon());
    EXPECT_TRUE(removed) << removed.error().message;
    const auto left = co_await run_directories(session);
    EXPECT_THAT(left, IsEmpty());
    EXPECT_FALSE(runs.busy());
    co_await runs.close();
  });
}

TEST_P(SessionRuns, RunThatHasEnded_IsForgottenByTheAgentToo) {
  in_store([](SessionStore& store) -> Task<> {
    SessionUse session = co_await use(store);
    Runs& runs = session->part<Runs>();
    for (int i = 0; i < 3; ++i) {
      RunRequest request = line("true");
      auto run = co_await runs.start_background(session, languages(), std::move(request), {}, soon());
      EXPECT_TRUE(run) << run.error().message;
      if (!run) co_return;
      const auto removed = co_await runs.remove((*run)->id(), soon());
      EXPECT_TRUE(removed) << removed.error().message;
    }
    std::size_t known = 3;
    const Deadline patience = Deadline::after(60s);
    while (known > 0 && !patience.passed()) {
      const auto list = co_await session->lease()->list_background(soon());
      known = list.value().size();
      if (known > 0) co_await pause_for(20ms);
    }
    EXPECT_EQ(known, 0u);
  });
}

TEST_P(SessionRuns, SessionThatIsCut_EndsItsRuns_AndWhoWaitsForThem) {
  in_store([](SessionStore& store) -> Task<> {
    std::shared_ptr<session::Run> run;
    {
      SessionUse session = co_await use(store);
      Runs& runs = session->part<Runs>();
      RunRequest request = line("exec sleep 1000");
      auto started = co_await runs.start_background(session, languages(), std::move(request), {}, soon());
      EXPECT_TRUE(started) << started.error().message;
      if (!started) co_return;
      run = std::move(*started);
    }
    EXPECT_TRUE(run->running());
    auto ended = co_await store.end(tenant(), "s1", EndMode::cut, soon());
    EXPECT_TRUE(ended) << ended.error().message;
    EXPECT_FALSE(run->running());
    EXPECT_EQ(store.list(std::nullopt).size(), 0u);
  });
}

TEST_P(SessionRuns, MemoryThatIsUsedUp_IsTheCause) {
  if (target().is_fake() || target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("no memory kill that the sandbox survives");
  in_store([](SessionStore& store) -> Task<> {
    SessionUse session = co_await use(store);
    RunRequest request = code("x = bytearray(1 << 30)\nprint(len(x))\n");
    const auto ran = co_await run_to_end(session, std::move(request));
    EXPECT_EQ(to_string(ran.category), "runtime_error");
    EXPECT_EQ(to_string(ran.cause), "memory") << ran.printed.err;
    const auto after = co_await print_of(session, "echo alive");
    EXPECT_EQ(after, "alive\n");
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SessionRuns, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
