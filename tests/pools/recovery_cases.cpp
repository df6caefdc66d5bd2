// A manager that is killed: the next one takes over what is clean, removes what is not, and does not touch foreign
// sandboxes.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>

#include "core/fault_point.hpp"
#include "core/ids.hpp"
#include "support/pools.hpp"

namespace cloche {

namespace {

// Uses a pool in all ways: creates, leases, resets, leases again, destroys.
Task<> use_pool(pool::Manager& manager) {
  {
    pool::Lease lease = co_await lend(manager);
    const std::string said = co_await shell(lease, "echo used > mark");
  }
  pool::Lease lease = co_await lend(manager);
  lease.destroy();
  lease = co_await lend(manager);
}

}  // namespace

// A manager in a process of its own, over the same directories and with the same instance's name.
class PoolsRecovery : public Pools {
 protected:
  enum class AfterUse { shut_down, wait_to_be_killed };

  // Runs `use` in a manager in another process, which a fault point, or the test, kills. Says how it ended.
  int in_doomed_process(const ManagerOptions& options, const std::string& fault,
                        const std::function<Task<>(pool::Manager&)>& use, AfterUse after) {
    int report[2];
    EXPECT_EQ(::pipe(report), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(report[0]);
      doomed(options, fault, use, after, report[1]);
    }
    ::close(report[1]);
    char used = 0;
    const auto got = ::read(report[0], &used, 1);
    ::close(report[0]);
    if (after == AfterUse::wait_to_be_killed) {
      EXPECT_EQ(got, 1) << "it ended before it was killed";
      ::kill(child, SIGKILL);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  [[noreturn]] void doomed(const ManagerOptions& options, const std::string& fault,
                           const std::function<Task<>(pool::Manager&)>& use, AfterUse after, int report) {
    if (!fault.empty() && !faults::set_faults(fault)) ::_exit(9);
    asio::io_context io{1};
    asio::thread_pool threads{2};
    auto backend = testing_support::make_backend(target(), io.get_executor(), threads, scratch_, instance_);
    auto journal = pool::Journal::open(journal_path());
    if (!backend || !journal) ::_exit(10);
    auto made = pool::Manager::create(io.get_executor(), **backend, std::move(*journal), options,
                                      pool::Tenancy::of_trusted_callers());
    if (!made) ::_exit(11);
    asio::co_spawn(
        io,
        [&]() -> Task<> {
          auto started = co_await (*made)->start(Deadline::after(60s));
          if (!started) {
            std::cerr << started.error().message << '\n';
            ::_exit(12);
          }
          co_await use(**made);
          if (after == AfterUse::wait_to_be_killed) {
            if (::write(report, "u", 1) != 1) ::_exit(13);
            co_await pause_for(1h);
          }
          auto ended = co_await (*made)->shut_down();
          ::_exit(ended ? 0 : 14);
        },
        [](std::exception_ptr) { ::_exit(15); });
    io.run();
    ::_exit(16);
  }

  std::string journal_path() const { return (scratch_.path() / "journal.db").string(); }

  // A new backend, as after a restart of the process.
  void start_again() {
    auto made = testing_support::make_backend(target(), io_.get_executor(), threads_, scratch_, instance_);
    ASSERT_TRUE(made) << made.error().message;
    backend_ = std::move(*made);
  }

  // Lives beside, and must stand untouched.
  void raise_neighbour() {
    neighbour_instance_.value = "other-" + random_hex(6);
    auto made = testing_support::make_backend(target(), io_.get_executor(), threads_, scratch_, neighbour_instance_);
    ASSERT_TRUE(made) << made.error().message;
    neighbours_ = std::move(*made);
    run([this]() -> Task<> {
      auto walls = co_await neighbours_->create(testing_support::spec_for(target()), Deadline::after(120s));
      EXPECT_TRUE(walls) << walls.error().message;
      if (!walls) co_return;
      auto opened = co_await LiveSandbox::open(std::move(*walls), Greeting::fresh, Deadline::after(60s));
      EXPECT_TRUE(opened) << opened.error().message;
      if (opened) neighbour_ = std::move(*opened);
      if (neighbour_) co_await neighbour_->release();
    });
    neighbour_.reset();
  }
  void expect_neighbour_lives() {
    run([this]() -> Task<> {
      auto found = co_await neighbours_->recover(Deadline::after(60s));
      EXPECT_TRUE(found) << found.error().message;
      if (!found) co_return;
      EXPECT_EQ(found->size(), 1u) << "the neighbour's sandbox is gone";
      for (auto& walls : *found) {
        auto opened = co_await LiveSandbox::open(std::move(walls), Greeting::takeover, Deadline::after(60s));
        EXPECT_TRUE(opened) << opened.error().message;
        if (!opened) co_return;
        auto gone = co_await (*opened)->destroy(Deadline::after(60s));
        EXPECT_TRUE(gone) << gone.error().message;
      }
    });
  }

  std::vector<std::string> fault_points() const {
    std::vector<std::string> points{"pool.make.before",
                                    "pool.make.journalled",
                                    "pool.make.made",
                                    "pool.make.idle",
                                    "pool.lent",
                                    "pool.lent:2",
                                    "pool.reset.before",
                                    "pool.reset.done",
                                    "pool.remove.journalled",
                                    "pool.remove.gone",
                                    "pool.make.journalled:2"};
    if (target().backend == "docker") {
      points.insert(points.end(), {"backend.make.created", "backend.make.started"});
    } else {
      points.insert(points.end(), {"backend.make.directory", "backend.make.uids", "backend.make.cgroup",
                                   "backend.make.started", "backend.remove.killed", "backend.remove.cgroup"});
    }
    return points;
  }

  InstanceId neighbour_instance_;
  std::unique_ptr<Backend> neighbours_;
  std::unique_ptr<LiveSandbox> neighbour_;
};

TEST_P(PoolsRecovery, ManagerKilledAtEachStep_TheNextOneLosesAndLeavesNothing) {
  if (fake_has_no("life after its server")) return;
  raise_neighbour();
  const ManagerOptions options = with(profile(1, 2));
  for (const std::string& fault : fault_points()) {
    SCOPED_TRACE(fault);
    const int status = in_doomed_process(options, fault, use_pool, AfterUse::shut_down);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "not killed there, status " << status;
    start_again();
    in_manager(options, [](pool::Manager& manager) -> Task<> {
      pool::Lease lease = co_await lend(manager);
      const std::string said = co_await shell(lease, "find . -mindepth 1; echo well");
      EXPECT_EQ(said, "well\n");
      EXPECT_LE(manager.stats().at("box").total, 2u);
    });
    auto journal = pool::Journal::open(journal_path());
    ASSERT_TRUE(journal);
    EXPECT_TRUE((*journal)->entries()->empty());
    if (HasFailure()) break;
  }
  expect_neighbour_lives();
}

TEST_P(PoolsRecovery, ManagerKilled_IdleSandboxesAreTakenOverAndLentOnesRemoved) {
  if (fake_has_no("life after its server")) return;
  ManagerOptions options = with(profile(2, 4));
  const int status = in_doomed_process(
      options, "",
      [](pool::Manager& manager) -> Task<> {
        static pool::Lease kept;  // leased at the end
        ClaimOptions red;
        red.tenant = "red";
        kept = co_await lend(manager, red);
        {
          pool::Lease used = co_await lend(manager, red);
          const std::string said = co_await shell(used, "echo x > mark");
        }
        co_await eventually("three idle", [&] {
          const auto stats = manager.stats().at("box");
          return stats.idle >= 2 && stats.making + stats.resetting == 0;
        });
      },
      AfterUse::wait_to_be_killed);
  EXPECT_TRUE(WIFSIGNALED(status));
  std::size_t idle = 0;
  std::set<std::string> known;
  {
    auto journal = pool::Journal::open(journal_path());
    ASSERT_TRUE(journal);
    const auto entries = (*journal)->entries();
    ASSERT_TRUE(entries);
    for (const auto& entry : *entries) {
      known.insert(entry.name);
      idle += entry.state == pool::JournalState::idle;
    }
  }
  EXPECT_EQ(known.size(), idle + 1);
  start_again();
  in_manager(options, [&](pool::Manager& manager) -> Task<> {
    const auto stats = manager.stats().at("box");
    EXPECT_EQ(stats.idle, idle);
    EXPECT_EQ(stats.created, 0u) << "made anew instead of taken over";
    // One served red before, and stays red's.
    ClaimOptions blue;
    blue.tenant = "blue";
    pool::Lease first = co_await lend(manager, blue);
    EXPECT_TRUE(known.contains(first->spec().name));
    ClaimOptions red;
    red.tenant = "red";
    pool::Lease second = co_await lend(manager, red);
    EXPECT_TRUE(known.contains(second->spec().name));
    const std::string said = co_await shell(second, "find . -mindepth 1; echo clean");
    EXPECT_EQ(said, "clean\n");
  });
}

TEST_P(PoolsRecovery, LastingLease_IsHandedToItsHolderAgainWithFilesAndPrograms) {
  if (fake_has_no("life after its server")) return;
  const ManagerOptions options = with(profile(1, 3));
  const int status = in_doomed_process(
      options, "",
      [](pool::Manager& manager) -> Task<> {
        ClaimOptions claim;
        claim.tenant = "red";
        auto held = co_await (*manager.find("box"))->claim_lasting(claim, "red/one", Deadline::after(60s));
        static pool::Lease kept;
        kept = std::move(*held);
        const std::string said = co_await shell(kept, "echo mine > file");
        ExecSpec background = ExecSpec::shell("while :; do sleep 1; done");
        background.lifetime = Lifetime::background;
        auto started = co_await kept.start(std::move(background), Deadline::after(60s));
        EXPECT_TRUE(started);
      },
      AfterUse::wait_to_be_killed);
  EXPECT_TRUE(WIFSIGNALED(status));
  start_again();
  in_manager(options, [](pool::Manager& manager) -> Task<> {
    auto held = manager.take_held();
    EXPECT_EQ(held.size(), 1u);
    EXPECT_TRUE(held.contains("red/one"));
    if (held.size() != 1) co_return;
    pool::Lease lease = std::move(held.begin()->second);
    const std::string said = co_await shell(lease, "cat file");
    EXPECT_EQ(said, "mine\n");
    auto running = co_await lease->list_background(Deadline::after(60s));
    EXPECT_TRUE(running && running->size() == 1);
    EXPECT_EQ(manager.stats().at("box").active, 1u);
    EXPECT_TRUE(lease.destroy());
  });
}

TEST_P(PoolsRecovery, StateDirectoryLost_SandboxesAreKnownByTheirLabelsAndRemoved) {
  if (fake_has_no("life after its server")) return;
  const ManagerOptions options = with(profile(2, 4));
  const int status = in_doomed_process(
      options, "",
      [](pool::Manager& manager) -> Task<> {
        co_await eventually("two idle", [&] { return manager.stats().at("box").idle == 2; });
      },
      AfterUse::wait_to_be_killed);
  EXPECT_TRUE(WIFSIGNALED(status));
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(journal_path() + suffix);
  std::filesystem::remove_all(scratch_.path() / "state");
  start_again();
  in_manager(options, [](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string said = co_await shell(lease, "echo well");
    EXPECT_EQ(said, "well\n");
    EXPECT_GE(manager.stats().at("box").created, 1u);
  });
}

TEST_P(PoolsRecovery, ProfileChangedMeanwhile_OldSandboxesAreReplaced) {
  if (fake_has_no("life after its server")) return;
  ManagerOptions options = with(profile(1, 2));
  const int status = in_doomed_process(
      options, "",
      [](pool::Manager& manager) -> Task<> {
        co_await eventually("one idle", [&] { return manager.stats().at("box").idle == 1; });
      },
      AfterUse::wait_to_be_killed);
  EXPECT_TRUE(WIFSIGNALED(status));
  options.profiles[0].sandbox.hostname = "another";
  start_again();
  in_manager(options, [](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string said = co_await shell(lease, "cat /proc/sys/kernel/hostname");
    EXPECT_EQ(said, "another\n");
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, PoolsRecovery, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
