// A step that throws, at every point that pools, sessions and links have: each call is answered with an error of a
// kind, no place is lost, and nothing is left. The points are those of this program: a new one is covered as it is.
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "session/contexts.hpp"
#include "session/runs/runs.hpp"
#include "sessions/with_store.hpp"

namespace cloche {

namespace {

using session::Code;
using session::ContextCall;
using session::Contexts;
using session::EarlierRuns;
using session::EndMode;
using session::ForkRequest;
using session::RunRequest;
using session::Runs;
using session::RunStart;
using session::SessionStore;
using session::SessionUse;
using session::ShellLine;

// Of other backends; of what happens after a restart, when nothing of the fake backend lives; of other programs; and of
// looks that are minutes apart. tests/faults/test_throws.py comes by all of them.
bool is_elsewhere(std::string_view point) {
  constexpr std::string_view elsewhere[] = {"backend.", "channel.",        "disk.",     "e2b.",
                                            "http.",    "judge.",          "pool.look", "pool.make.int",
                                            "pool.rec", "session.recover", "test.",     "volume."};
  return std::ranges::any_of(elsewhere, [&](std::string_view each) { return point.starts_with(each); });
}

// Whatever the call says, it says it soon. What it throws is an error to its caller, as it is over HTTP.
template <class Start>
std::invoke_result_t<Start&> answered(const char* what, Start start) {
  const Deadline in_time = Deadline::after(20s);
  auto result = co_await guarded(what, std::move(start));
  EXPECT_FALSE(in_time.passed()) << what << " took too long";
  co_return result;
}

Task<Status> use_lease(pool::Manager& manager, bool is_given_back) {
  ClaimOptions options;
  CLOCHE_CO_TRY(pool::Lease lease, co_await manager.acquire("box", std::move(options), soon()));
  ExecSpec spec = ExecSpec::shell("echo used > mark");
  CLOCHE_CO_CHECK(co_await lease.run(std::move(spec), soon()));
  if (!is_given_back) lease.destroy();
  co_return Status{};
}

Task<Status> run_code(SessionUse& use) {
  CLOCHE_CO_TRY(Runs* const runs, co_await Runs::of(use));
  RunRequest request;
  request.what = Code{"python", "open('made', 'w').write(input())\nprint('done')"};
  request.input = "text\n";
  RunStart start;
  start.call = std::move(request);
  CLOCHE_CO_TRY(const auto run, runs->start(use, languages(), std::move(start)));
  const bool ended = co_await run->wait(soon());
  EXPECT_TRUE(ended) << "the run looks as if it were still running";
  co_return Status{};
}

Task<Status> run_in_background(SessionUse& use) {
  Runs& runs = use->part<Runs>();
  RunRequest request;
  request.what = ShellLine{"echo one; echo two"};
  auto started = co_await runs.start_background(use, languages(), std::move(request), {}, soon());
  if (!started) co_return fail(std::move(started).error());
  const bool ended = co_await (*started)->wait(soon());
  EXPECT_TRUE(ended) << "the run in the background looks as if it were still running";
  co_return Status{};
}

// As the next process does.
Task<Status> find_runs(SessionUse& use) {
  Runs next(*use, EarlierRuns::to_be_found);
  auto work = [&] { return next.recover(use.shared(), soon()); };
  auto found = co_await guarded("recover", std::move(work));
  co_await next.close();
  co_return found;
}

Task<Status> run_in_context(SessionUse& use) {
  Contexts& contexts = use->part<Contexts>();
  ContextCall call;
  call.context = "c";
  call.language = "python";
  call.code = "1 + 1";
  OutputSink no_sink;
  auto ran = co_await contexts.run(std::move(call), std::move(no_sink), soon());
  auto closed = co_await contexts.close("c");
  if (!ran) co_return fail(std::move(ran).error());
  co_return closed;
}

Task<Status> change_network(SessionStore& store) {
  NetworkPolicy network;
  network.mode = Network::allow_list;
  auto changed = co_await store.set_network(tenant(), "s1", std::move(network), soon());
  if (!changed) co_return fail(std::move(changed).error());
  co_return Status{};
}

Task<Status> keep_files(SessionUse& use, snapshot::Snapshots& snapshots) {
  snapshot::TakeRequest wanted;
  wanted.session = use->key().id;
  CLOCHE_CO_TRY(const auto taken, co_await snapshots.take(tenant(), std::move(wanted), use->lease(), soon()));
  co_return co_await snapshots.remove(tenant(), taken.id);
}

Task<Status> fork_session(SessionStore& store) {
  ForkRequest wanted;
  wanted.ids = {"s2"};
  CLOCHE_CO_TRY(const auto forks, co_await store.fork(tenant(), "s1", std::move(wanted), soon()));
  auto ended = co_await store.end(tenant(), "s2", EndMode::cut, soon());
  if (!forks[0]) co_return fail(forks[0].error());
  co_return ended;
}

// However a step went, the session is live or paused, and says which.
Task<Status> pause_and_resume(SessionStore& store) {
  auto paused = co_await guarded("pause", [&] { return store.pause(tenant(), "s1", soon()); });
  const auto info = store.info(tenant(), "s1");
  const auto expected = paused ? session::SessionState::paused : session::SessionState::live;
  EXPECT_TRUE(!info || info->state == expected);
  auto resumed = co_await guarded("resume", [&] { return store.resume(tenant(), "s1", soon()); });
  if (!resumed) resumed = co_await guarded("resume", [&] { return store.resume(tenant(), "s1", soon()); });
  if (!resumed) resumed = co_await store.resume(tenant(), "s1", soon());
  EXPECT_TRUE(resumed) << resumed.error().message;
  auto found = store.find(tenant(), "s1");
  if (!found) co_return fail(std::move(found).error());
  auto answered = co_await (*found)->lease()->ping(soon());
  EXPECT_TRUE(answered) << answered.error().message;
  co_return answered;
}

// Its time is over at once, whatever the first looks at it make of that.
Task<Status> expire(SessionStore& store) {
  const auto past = std::chrono::system_clock::now() - 1s;
  auto set = co_await guarded("expiry", [&] { return store.set_expiry(tenant(), "s1", past, soon()); });
  const Deadline patience = Deadline::after(10s);
  while (store.info(tenant(), "s1") && !patience.passed()) co_await pause_for(1ms);
  EXPECT_FALSE(patience.passed()) << "the time of the session is over, and it is still there";
  co_return set ? Status{} : Status(fail(set.error()));
}

// Comes by every step there is, whatever the answers are.
Task<> use_everything(pool::Manager& manager, SessionStore& store, snapshot::Snapshots& snapshots) {
  (void)co_await answered("lease", [&] { return use_lease(manager, true); });
  (void)co_await answered("lease that is destroyed", [&] { return use_lease(manager, false); });
  auto used = co_await answered("session", [&] { return store.use(tenant(), "s1", soon()); });
  if (used) {
    SessionUse use = std::move(*used);
    (void)co_await answered("run", [&] { return run_code(use); });
    (void)co_await answered("run in the background", [&] { return run_in_background(use); });
    (void)co_await answered("context", [&] { return run_in_context(use); });
    (void)co_await answered("runs of an earlier process", [&] { return find_runs(use); });
    (void)co_await answered("network", [&] { return change_network(store); });
    (void)co_await answered("snapshot", [&] { return keep_files(use, snapshots); });
    (void)co_await answered("fork", [&] { return fork_session(store); });
  }
  const auto info = store.info(tenant(), "s1");
  if (info && info->state == session::SessionState::live) {
    (void)co_await answered("pause", [&] { return pause_and_resume(store); });
    (void)co_await answered("expiry", [&] { return expire(store); });
  }
  (void)co_await answered("end", [&] { return store.end(tenant(), "s1", EndMode::cut, soon()); });
}

}  // namespace

class ThrowingSteps : public WithStore {
 public:
  ~ThrowingSteps() override { (void)faults::set_faults(""); }

 protected:
  // `faults`: what happens at a point of this name.
  void throw_at_each_point(const std::function<std::string(const std::string& point)>& faults_at) {
    std::vector<std::string> never_passed;
    for (const faults::Point& each : faults::all()) {
      if (is_elsewhere(each.name)) continue;
      const std::string point(each.name);
      SCOPED_TRACE(point);
      in_store({}, [&](pool::Manager& manager, SessionStore& store) -> Task<> {
        const bool set = faults::set_faults(faults_at(point)).has_value();
        EXPECT_TRUE(set);
        co_await use_everything(manager, store, *snapshots_);
        // What looks around once a second has done so.
        if (faults::passes(point) == 0) co_await pause_for(1100ms);
        if (faults::passes(point) == 0) never_passed.push_back(point);
        (void)faults::set_faults("");
        co_await eventually("the pool has what it had", [&] {
          const PoolStats stats = manager.stats().at("box");
          return stats.idle >= 1 && stats.total == stats.idle && stats.waiting == 0;
        });
        auto after = co_await use_lease(manager, true);
        EXPECT_TRUE(after) << after.error().message;
        EXPECT_EQ(manager.unremoved().size(), 0u);
        // One whose removal failed is there to be removed again.
        if (!point.starts_with("snapshot.remove.")) {
          const std::size_t before = snapshot_store_->list(std::nullopt).size();
          co_await eventually("no snapshot is left",
                              [&] { return before > 0 || snapshot_store_->stored({}).count == 0; });
        }
      });
      if (HasFailure()) return;
    }
    EXPECT_THAT(never_passed, testing::IsEmpty()) << "nothing was tested there";
  }
};

TEST_P(ThrowingSteps, FirstPassThatThrows_CostsOnlyWhatItWasPartOf) {
  throw_at_each_point([](const std::string& point) { return point + "=throw"; });
}

TEST_P(ThrowingSteps, NoMemoryTwiceInARow_CostsOnlyWhatItWasPartOf) {
  throw_at_each_point([](const std::string& point) { return point + ":1=bad_alloc," + point + ":2=bad_alloc"; });
}

// As a caller does that goes away while what earlier runs left is removed.
TEST_P(ThrowingSteps, RecoveryOfRunsThatIsCutOff_FindsNoRunTwice) {
  in_store([](SessionStore& store) -> Task<> {
    auto used = co_await store.use(tenant(), "s1", soon());
    EXPECT_TRUE(used);
    if (!used) co_return;
    SessionUse use = std::move(*used);
    auto ran = co_await run_in_background(use);
    EXPECT_TRUE(ran);
    Runs next(*use, EarlierRuns::to_be_found);  // as the next process has it
    (void)faults::set_faults("run.recover.remove=throw");
    auto work = [&] { return next.recover(use.shared(), soon()); };
    auto cut_off = co_await guarded("recover", work);
    EXPECT_FALSE(cut_off);
    auto again = co_await guarded("recover", work);
    EXPECT_TRUE(again);
    EXPECT_EQ(next.list().size(), 1u);
    co_await next.close();
  });
}

TEST_P(ThrowingSteps, FirstRunOfAFreshSession_DoesNotAskForEarlierRuns) {
  in_store([](SessionStore& store) -> Task<> {
    auto used = co_await store.use(tenant(), "s1", soon());
    EXPECT_TRUE(used);
    if (!used) co_return;
    SessionUse use = std::move(*used);
    (void)faults::set_faults("run.recover=throw");
    auto ran = co_await run_code(use);
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(faults::passes("run.recover"), 0u);
    EXPECT_EQ(faults::passes("run.begin"), 1u);
    auto found = co_await find_runs(use);
    EXPECT_FALSE(found) << "the point is not where the agent is asked";
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, ThrowingSteps, testing::Values(Target{"fake", ""}),
                         [](const auto& tested) { return tested.param.name(); });

}  // namespace cloche
