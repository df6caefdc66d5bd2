// Sessions that are paused, resumed, and whose time is over.
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "session/contexts.hpp"
#include "session/runs/runs.hpp"
#include "session/unless_paused.hpp"
#include "sessions/with_store.hpp"

namespace cloche {

namespace {

using asio::experimental::awaitable_operators::operator&&;
using session::EndMode;
using session::OnExpiry;
using session::RunRequest;
using session::Runs;
using session::RunStart;
using session::SessionOptions;
using session::SessionState;
using session::SessionStore;
using session::SessionUse;
using session::ShellLine;
using session::Unattended;

Task<SessionUse> session_of(SessionStore& store, std::string id) {
  auto used = co_await store.use(tenant(), std::move(id), soon());
  if (!used) throw std::runtime_error("no session: " + used.error().message);
  co_return std::move(*used);
}

Task<> make(SessionStore& store, std::string id, SessionOptions options) {
  auto made = co_await store.create(tenant(), std::move(id), std::move(options), soon());
  EXPECT_TRUE(made) << made.error().message;
}

Task<> pause(SessionStore& store, std::string id) {
  auto paused = co_await store.pause(tenant(), std::move(id), soon());
  EXPECT_TRUE(paused) << paused.error().message;
  EXPECT_TRUE(!paused || paused->state == SessionState::paused);
}

Task<> resume(SessionStore& store, std::string id) {
  auto resumed = co_await store.resume(tenant(), std::move(id), soon());
  EXPECT_TRUE(resumed) << resumed.error().message;
  EXPECT_TRUE(!resumed || resumed->state == SessionState::live);
}

Task<std::string> say(SessionStore& store, std::string id, std::string line) {
  SessionUse session = co_await session_of(store, std::move(id));
  co_return co_await shell(session->lease(), std::move(line));
}

std::optional<SessionState> state_of(SessionStore& store, const std::string& id) {
  const auto info = store.info(tenant(), id);
  return info ? std::optional(info->state) : std::nullopt;
}

session::WallTime from_now(std::chrono::milliseconds span) { return std::chrono::system_clock::now() + span; }

// Prints numbers until there is a file `stop`.
constexpr const char* counting = "i=0; while [ ! -e stop ]; do i=$((i+1)); echo $i; sleep 0.01; done; echo end";

Task<std::shared_ptr<session::Run>> count(SessionUse& use, Unattended unattended) {
  RunRequest request;
  request.what = ShellLine{counting};
  RunStart start;
  start.call = std::move(request);
  start.unattended = unattended;
  auto started = use->part<Runs>().start(use, languages(), std::move(start));
  if (!started) throw std::runtime_error(started.error().message);
  const auto run = *started;
  co_await eventually("it counts", [&] { return run->log().output(Stream::out).size() > 4; });
  co_return run;
}

}  // namespace

class SessionLifecycle : public WithStore {};

TEST_P(SessionLifecycle, PausedSession_TakesNoCallsUntilItIsResumed) {
  in_store([](SessionStore& store) -> Task<> {
    std::string said = co_await say(store, "s1", "echo kept > file; echo made");
    EXPECT_EQ(said, "made\n");
    co_await pause(store, "s1");
    EXPECT_EQ(store.counts().paused, 1u);
    EXPECT_EQ(store.counts().live, 1u);
    const auto found = store.find(tenant(), "s1");
    EXPECT_TRUE(!found && found.error().code == ErrorCode::paused);
    auto used = co_await store.use(tenant(), "s1", soon());
    EXPECT_TRUE(!used && used.error().code == ErrorCode::paused);
    auto again = co_await store.pause(tenant(), "s1", soon());
    EXPECT_TRUE(!again && again.error().code == ErrorCode::paused);
    SessionOptions options;
    auto made = co_await store.create(tenant(), "s1", std::move(options), soon());
    EXPECT_TRUE(!made && made.error().code == ErrorCode::already_exists);
    std::optional<NetworkPolicy> none;
    auto network = co_await store.set_network(tenant(), "s1", none, soon());
    EXPECT_TRUE(!network && network.error().code == ErrorCode::paused);
    co_await resume(store, "s1");
    co_await resume(store, "s1");
    said = co_await say(store, "s1", "cat file");
    EXPECT_EQ(said, "kept\n");
    EXPECT_EQ(store.counts().paused, 0u);
  });
}

TEST_P(SessionLifecycle, UnknownSession_IsNotFound) {
  in_store([](SessionStore& store) -> Task<> {
    auto paused = co_await store.pause(tenant(), "s1", soon());
    EXPECT_TRUE(!paused && paused.error().code == ErrorCode::not_found);
    auto resumed = co_await store.resume(tenant(), "s1", soon());
    EXPECT_TRUE(!resumed && resumed.error().code == ErrorCode::not_found);
    std::optional<session::WallTime> never;
    auto set = co_await store.set_expiry(tenant(), "s1", never, soon());
    EXPECT_TRUE(!set && set.error().code == ErrorCode::not_found);
    auto use = co_await store.resource_use(tenant(), "s1", soon());
    EXPECT_TRUE(!use && use.error().code == ErrorCode::not_found);
    EXPECT_FALSE(store.options_of(tenant(), "s1"));
    EXPECT_FALSE(store.set_attributes(tenant(), "s1", {}));
  });
}

TEST_P(SessionLifecycle, ProgramThatCounts_WaitsForTheResumeAndContinues) {
  in_store([](SessionStore& store) -> Task<> {
    SessionUse use = co_await session_of(store, "s1");
    const auto run = co_await count(use, Unattended::goes_on);
    co_await pause(store, "s1");
    EXPECT_TRUE(run->is_paused());
    const bool ended_while_paused = co_await run->wait(soon());
    EXPECT_FALSE(ended_while_paused);
    co_await pause_for(200ms);  // for what was on its way
    const std::size_t before = run->log().output(Stream::out).size();
    co_await pause_for(200ms);
    EXPECT_EQ(run->log().output(Stream::out).size(), before);
    co_await resume(store, "s1");
    EXPECT_FALSE(run->is_paused());
    co_await eventually("it counts", [&] { return run->log().output(Stream::out).size() > before; });
    (void)co_await say(store, "s1", "touch stop");
    const bool ended = co_await run->wait(soon());
    EXPECT_TRUE(ended);
    EXPECT_TRUE(run->log().output(Stream::out).ends_with("\nend\n"));
  });
}

TEST_P(SessionLifecycle, ReaderOfARun_EndsAndFindsTheRestLater) {
  in_store([](SessionStore& store) -> Task<> {
    SessionUse use = co_await session_of(store, "s1");
    use->part<Runs>().set_options({.unread_timeout = 1ms});
    std::shared_ptr<session::Run> run;
    std::uint64_t position = 0;
    {
      RunRequest request;
      request.what = ShellLine{counting};
      RunStart start;
      start.call = std::move(request);
      start.unattended = Unattended::cancelled;
      run = use->part<Runs>().start(use, languages(), std::move(start)).value();
      auto reader = session::RunReader::at(run, position).value();
      const auto read = [&]() -> Task<bool> {
        for (;;) {
          auto event = co_await reader.next();
          if (!event) co_return true;
          position = event->position;
        }
      };
      const auto pause_it = [&]() -> Task<bool> {
        co_await eventually("it counts", [&] { return run->log().output(Stream::out).size() > 4; });
        co_await pause(store, "s1");
        co_return true;
      };
      co_await (read() && pause_it());
    }
    // No client reads it while it is paused, and it is not cancelled for that.
    co_await pause_for(100ms);
    EXPECT_TRUE(run->running());
    auto reader = session::RunReader::at(run, position).value();
    co_await resume(store, "s1");
    auto more = co_await reader.next();
    EXPECT_TRUE(more);
    (void)co_await say(store, "s1", "touch stop");
    const bool ended = co_await run->wait(soon());
    EXPECT_TRUE(ended);
    EXPECT_EQ(std::get_if<Error>(run->log().how()), nullptr);
  });
}

TEST_P(SessionLifecycle, CallUnderWay_EndsWithThePause) {
  in_store([](SessionStore& store) -> Task<> {
    SessionUse use = co_await session_of(store, "s1");
    bool is_under_way = false;
    const auto call = [&]() -> Task<Status> {
      ExecSpec spec = ExecSpec::shell("sleep 1000");
      auto work = [&]() -> Task<Status> {
        is_under_way = true;
        auto ran = co_await use->lease().run(std::move(spec), soon());
        co_return ran ? Status{} : Status(fail(ran.error()));
      };
      auto ended = co_await session::unless_paused(*use, work());
      EXPECT_TRUE(!ended && ended.error().code == ErrorCode::paused);
      co_return ended;
    };
    const auto pause_it = [&]() -> Task<bool> {
      co_await eventually("it is under way", [&] { return is_under_way; });
      co_await pause(store, "s1");
      co_return true;
    };
    co_await (call() && pause_it());
    // One that begins although the session is paused.
    auto late = co_await session::unless_paused(*use, use->lease()->ping(soon()));
    EXPECT_TRUE(!late && late.error().code == ErrorCode::paused);
    co_await resume(store, "s1");
    const std::string said = co_await say(store, "s1", "echo here");
    EXPECT_EQ(said, "here\n");
  });
}

TEST_P(SessionLifecycle, Context_KeepsItsState) {
  in_store([](SessionStore& store) -> Task<> {
    const auto run = [&](std::string code) -> Task<session::ContextResult> {
      SessionUse use = co_await session_of(store, "s1");
      session::ContextCall call;
      call.context = "c";
      call.language = "python";
      call.code = std::move(code);
      OutputSink no_sink;
      auto ran = co_await use->part<session::Contexts>().run(std::move(call), std::move(no_sink), soon());
      if (!ran) throw std::runtime_error(ran.error().message);
      co_return std::move(*ran);
    };
    (void)co_await run("x = 20");
    co_await pause(store, "s1");
    co_await resume(store, "s1");
    const auto result = co_await run("x + 1");
    EXPECT_EQ(result.value, "21");
    EXPECT_FALSE(result.fresh);
  });
}

TEST_P(SessionLifecycle, PausedSession_IsEndedInEitherMode) {
  in_store([](SessionStore& store) -> Task<> {
    for (const EndMode mode : {EndMode::cut, EndMode::wait}) {
      std::shared_ptr<session::Run> run;
      {
        SessionUse use = co_await session_of(store, "s1");
        run = co_await count(use, Unattended::goes_on);
      }
      co_await pause(store, "s1");
      auto ended = co_await store.end(tenant(), "s1", mode, soon());
      EXPECT_TRUE(ended) << ended.error().message;
      EXPECT_FALSE(run->running());
      EXPECT_EQ(store.list(std::nullopt).size(), 0u);
    }
  });
}

TEST_P(SessionLifecycle, EndedWhileItIsBeingPaused_IsGone) {
  in_store([](SessionStore& store) -> Task<> {
    for (int i = 0; i < 3; ++i) {
      (void)co_await say(store, "s1", "echo here");
      co_await (store.pause(tenant(), "s1", soon()) && store.end(tenant(), "s1", EndMode::cut, soon()));
      EXPECT_EQ(store.list(std::nullopt).size(), 0u);
    }
  });
}

TEST_P(SessionLifecycle, PausesAndResumesAtOnce_OneAfterTheOther) {
  in_store([](SessionStore& store) -> Task<> {
    (void)co_await say(store, "s1", "echo here");
    for (int i = 0; i < 3; ++i) {
      auto [one, other, resumed] =
          co_await (store.pause(tenant(), "s1", soon()) && store.pause(tenant(), "s1", soon()) &&
                    store.resume(tenant(), "s1", soon()));
      EXPECT_TRUE(one) << one.error().message;
      EXPECT_TRUE(!other && other.error().code == ErrorCode::paused);
      EXPECT_TRUE(resumed) << resumed.error().message;
    }
    const std::string said = co_await say(store, "s1", "echo here");
    EXPECT_EQ(said, "here\n");
  });
}

TEST_P(SessionLifecycle, PausedSession_CountsInTheQuotaAndIsNotIdle) {
  StoreSetup brief;
  brief.store.idle_timeout = 1s;
  brief.quota.limits.sessions = 2;
  in_store(brief, [](pool::Manager&, SessionStore& store) -> Task<> {
    (void)co_await say(store, "paused", "echo here");
    co_await pause(store, "paused");
    (void)co_await say(store, "idle", "echo here");
    auto third = co_await store.use(tenant(), "third", soon());
    EXPECT_TRUE(!third && third.error().code == ErrorCode::limit_reached);
    co_await eventually("the idle one is gone", [&] { return !state_of(store, "idle"); });
    EXPECT_EQ(state_of(store, "paused"), SessionState::paused);
    co_await resume(store, "paused");
    EXPECT_EQ(state_of(store, "paused"), SessionState::live);
    co_await eventually("it is idle again", [&] { return !state_of(store, "paused"); });
  });
}

TEST_P(SessionLifecycle, PausedForTooLong_IsEnded) {
  StoreSetup brief;
  brief.store.paused_timeout = 1s;
  in_store(brief, [](pool::Manager&, SessionStore& store) -> Task<> {
    (void)co_await say(store, "s1", "echo here");
    co_await pause(store, "s1");
    co_await eventually("it is gone", [&] { return !state_of(store, "s1"); });
    EXPECT_EQ(store.counts().idled_out, 1u);
  });
}

TEST_P(SessionLifecycle, TimeThatIsOver_EndsASessionInUse) {
  in_store([](SessionStore& store) -> Task<> {
    SessionOptions options;
    options.expires = from_now(1s);
    co_await make(store, "s1", std::move(options));
    EXPECT_TRUE(store.info(tenant(), "s1")->expires);
    {
      SessionUse use = co_await session_of(store, "s1");
      ExecSpec spec = ExecSpec::shell("sleep 1000");
      auto ran = co_await use->lease().run(std::move(spec), soon());
      EXPECT_TRUE(!ran && ran.error().code == ErrorCode::sandbox_lost);
    }
    co_await eventually("it is gone", [&] { return !state_of(store, "s1"); });
  });
}

TEST_P(SessionLifecycle, TimeThatIsOver_PausesASessionThatWantsThat) {
  in_store([](SessionStore& store) -> Task<> {
    SessionOptions options;
    options.expires = from_now(500ms);
    options.on_expiry = OnExpiry::pause;
    co_await make(store, "s1", std::move(options));
    co_await eventually("it is paused", [&] { return state_of(store, "s1") == SessionState::paused; });
    EXPECT_FALSE(store.info(tenant(), "s1")->expires);
    // Paused already: there is nothing to do.
    auto set = co_await store.set_expiry(tenant(), "s1", from_now(-1s), soon());
    EXPECT_TRUE(set) << set.error().message;
    co_await eventually("it is over", [&] { return !store.info(tenant(), "s1")->expires; });
    EXPECT_EQ(state_of(store, "s1"), SessionState::paused);
    co_await resume(store, "s1");
    const std::string said = co_await say(store, "s1", "echo here");
    EXPECT_EQ(said, "here\n");
  });
}

TEST_P(SessionLifecycle, Expiry_IsSetSoonerLaterAndNever) {
  in_store([](SessionStore& store) -> Task<> {
    for (const char* id : {"sooner", "later", "never"}) {
      SessionOptions options;
      options.expires = from_now(id == std::string("sooner") ? 1000s : 2s);
      co_await make(store, id, std::move(options));
    }
    auto later = co_await store.set_expiry(tenant(), "later", from_now(1000s), soon());
    EXPECT_TRUE(later) << later.error().message;
    auto never = co_await store.set_expiry(tenant(), "never", std::nullopt, soon());
    EXPECT_TRUE(never && !never->expires);
    auto sooner = co_await store.set_expiry(tenant(), "sooner", from_now(2100ms), soon());
    EXPECT_TRUE(sooner) << sooner.error().message;
    co_await eventually("one is gone", [&] { return !state_of(store, "sooner"); });
    EXPECT_EQ(state_of(store, "later"), SessionState::live);
    EXPECT_EQ(state_of(store, "never"), SessionState::live);
  });
}

TEST_P(SessionLifecycle, MetadataAndAttributes_AreBoundedAndKept) {
  in_store([](SessionStore& store) -> Task<> {
    SessionOptions options;
    options.metadata["key"] = std::string(1025, 'x');
    auto refused = co_await store.create(tenant(), "s1", options, soon());
    EXPECT_TRUE(!refused && refused.error().code == ErrorCode::invalid_argument);
    options.metadata = {{"user", "7"}};
    options.attributes = {{"e2b.a", "1"}};
    co_await make(store, "s1", options);
    EXPECT_EQ(store.info(tenant(), "s1")->metadata, options.metadata);
    EXPECT_EQ(store.options_of(tenant(), "s1")->attributes, options.attributes);
    EXPECT_FALSE(store.set_attributes(tenant(), "s1", {{"", "x"}}));
    EXPECT_TRUE(store.set_attributes(tenant(), "s1", {{"e2b.b", "2"}}));
    const std::map<std::string, std::string> changed = {{"e2b.b", "2"}};
    EXPECT_EQ(store.options_of(tenant(), "s1")->attributes, changed);
  });
}

TEST_P(SessionLifecycle, ResourceUse_IsKnownOfAPausedSessionToo) {
  in_store([](SessionStore& store) -> Task<> {
    (void)co_await say(store, "s1", "echo here");
    auto live = co_await store.resource_use(tenant(), "s1", soon());
    EXPECT_TRUE(live) << live.error().message;
    co_await pause(store, "s1");
    auto paused = co_await store.resource_use(tenant(), "s1", soon());
    EXPECT_TRUE(paused) << paused.error().message;
    EXPECT_TRUE(!live || !paused || paused->cpu_time >= live->cpu_time);
    EXPECT_TRUE(store.limits_of(tenant(), "s1"));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SessionLifecycle, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
