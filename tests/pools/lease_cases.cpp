// Leases: acquired, returned, destroyed, misused.
#include "core/async/task_group.hpp"
#include "support/pools.hpp"

namespace cloche {

POOLS(Lease_RunsProgramsAndTheNextOneFindsTheSandboxAsNew) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) -> Task<> {
    std::string first_id;
    {
      pool::Lease lease = co_await lend(manager);
      first_id = lease->id().value;
      const std::string said = co_await shell(lease, "echo mine > secret; ls");
      EXPECT_EQ(said, "secret\n");
    }
    pool::Lease lease = co_await lend(manager);
    EXPECT_EQ(lease->id().value, first_id);
    const std::string said = co_await shell(lease, "find . /tmp -mindepth 1");
    EXPECT_EQ(said, "");
    const auto stats = manager.stats().at("box");
    EXPECT_EQ(stats.claims, 2u);
    EXPECT_EQ(stats.created, 1u);
    EXPECT_EQ(stats.resets, 1u);
    EXPECT_EQ(stats.claim_latency.count, 2u);
  });
}

POOLS(LeaseLeftByAnException_IsGivenBack) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) -> Task<> {
    try {
      pool::Lease lease = co_await lend(manager);
      throw std::runtime_error("on purpose");
    } catch (const std::runtime_error&) {
    }
    pool::Lease again = co_await lend(manager);
    EXPECT_TRUE(again);
  });
}

POOLS(DestroyedLease_IsReplacedByAnotherSandbox) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string first_id = lease->id().value;
    EXPECT_TRUE(lease.destroy());
    EXPECT_FALSE(lease.destroy());
    EXPECT_FALSE(lease.give_back());
    lease = co_await lend(manager);
    EXPECT_NE(lease->id().value, first_id);
  });
}

POOLS(LimitReached_FailsAtOnceWithFiguresOrWaitsForAReturn) {
  in_manager(with(profile(1, 1)), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    ClaimOptions at_once;
    at_once.at_limit = AtLimit::fail;
    auto refused = co_await manager.acquire("box", at_once);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::limit_reached);
    EXPECT_THAT(refused.error().message, HasSubstr("1 of 1 in use"));
    EXPECT_THAT(refused.error().message, HasSubstr("scale_limit 1"));

    ClaimOptions briefly;
    briefly.wait_timeout = 50ms;
    auto too_late = co_await manager.acquire("box", briefly);
    EXPECT_FALSE(too_late);
    EXPECT_EQ(too_late.error().code, ErrorCode::timeout);

    TaskGroup others(io_.get_executor());
    bool served = false;
    others.spawn("waits", [&]() -> Task<> {
      pool::Lease second = co_await lend(manager);
      served = true;
    });
    co_await eventually("somebody waits", [&] { return manager.stats().at("box").waiting == 1; });
    EXPECT_FALSE(served);
    lease.give_back();
    co_await others.join();
    EXPECT_TRUE(served);
  });
}

POOLS(CallerThatLeavesTheQueue_GivesItsPlaceUp) {
  in_manager(with(profile(1, 1)), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    TaskGroup others(io_.get_executor());
    others.spawn("leaves", [&]() -> Task<> {
      pool::Lease never = co_await lend(manager);
      ADD_FAILURE() << "was served after all";
    });
    co_await eventually("somebody waits", [&] { return manager.stats().at("box").waiting == 1; });
    co_await others.shut_down();
    EXPECT_EQ(manager.stats().at("box").waiting, 0u);
    lease.give_back();
    pool::Lease again = co_await lend(manager);
    EXPECT_TRUE(again);
  });
}

POOLS(RaisedLimit_ServesWhoWaits) {
  in_manager(with(profile(1, 1)), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    TaskGroup others(io_.get_executor());
    others.spawn("waits", [&]() -> Task<> {
      pool::Lease second = co_await lend(manager);
      EXPECT_NE(second->id(), lease->id());
    });
    co_await eventually("somebody waits", [&] { return manager.stats().at("box").waiting == 1; });
    PoolOptions wider = profile(1, 2).pool;
    EXPECT_TRUE((*manager.find("box"))->resize(wider));
    co_await others.join();
  });
}

POOLS(LeaseBeyondRunningTimeout_EndsAndItsCallsFail) {
  Profile brief = profile(1, 1);
  brief.pool.running_timeout = 1s;
  in_manager(with(brief), [](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    ExecSpec sleep = ExecSpec::shell("sleep 1000");
    auto ran = co_await lease.run(std::move(sleep), Deadline::after(60s));
    EXPECT_FALSE(ran);
    EXPECT_EQ(ran.error().code, ErrorCode::sandbox_lost) << ran.error().message;
    EXPECT_THAT(ran.error().message, HasSubstr("in use for too long"));
    EXPECT_FALSE(lease.give_back());
    pool::Lease next = co_await lend(manager);
    const std::string said = co_await shell(next, "echo well");
    EXPECT_EQ(said, "well\n");
    EXPECT_EQ(manager.stats().at("box").revoked, 1u);
  });
}

POOLS(WornOutAndNeverReused_AreReplaced) {
  Profile once = profile(1, 2);
  once.pool.reuse = Reuse::never;
  in_manager(with(once), [](pool::Manager& manager) -> Task<> {
    std::set<std::string> ids;
    for (int i = 0; i < 3; ++i) {
      pool::Lease lease = co_await lend(manager);
      ids.insert(lease->id().value);
    }
    EXPECT_EQ(ids.size(), 3u);
  });
}

POOLS(Tenants_NeverShareASandbox) {
  in_manager(with(profile(1, 2)), [](pool::Manager& manager) -> Task<> {
    std::map<std::string, std::set<std::string>> seen;  // sandbox to tenants
    for (int i = 0; i < 6; ++i) {
      ClaimOptions options;
      options.tenant = i % 3 == 0 ? "red" : "blue";
      pool::Lease lease = co_await lend(manager, options);
      seen[lease->id().value].insert(options.tenant);
    }
    for (const auto& [id, tenants] : seen) EXPECT_EQ(tenants.size(), 1u);
  });
}

POOLS(ClaimAfterShutdown_IsRefusedAndLeasesEndWithIt) {
  ManagerOptions options = with(profile(1, 2));
  options.drain_timeout = 100ms;
  pool::Lease outlives;
  in_manager(options, [&](pool::Manager& manager) -> Task<> {
    outlives = co_await lend(manager);
    auto ended = co_await manager.shut_down();
    EXPECT_TRUE(ended) << ended.error().message;
    ClaimOptions late;
    auto refused = co_await manager.acquire("box", late);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  });
  run([&]() -> Task<> {
    ExecSpec spec = ExecSpec::shell("true");
    auto ran = co_await outlives.run(std::move(spec));
    EXPECT_FALSE(ran);
    EXPECT_EQ(ran.error().code, ErrorCode::sandbox_lost);
  });
  EXPECT_FALSE(outlives.give_back());
}

POOLS(ShutdownWithALeaseThatEndsSoon_WaitsForIt) {
  ManagerOptions patient = with(profile(1, 2));
  patient.drain_timeout = 60s;
  in_manager(patient, [this](pool::Manager& manager) -> Task<> {
    TaskGroup others(io_.get_executor());
    bool finished = false;
    Event lent(io_.get_executor());
    others.spawn("works on", [&]() -> Task<> {
      pool::Lease lease = co_await lend(manager);
      lent.notify();
      const std::string said = co_await shell(lease, "sleep 0.3; echo done");
      finished = said == "done\n";
    });
    co_await lent.wait(Deadline::after(60s));
    auto ended = co_await manager.shut_down();
    EXPECT_TRUE(ended);
    EXPECT_TRUE(finished);
    co_await others.join();
  });
}

POOLS(UnknownPool_IsAnErrorThatListsWhatThereIs) {
  ManagerOptions options = with(profile(0, 1));
  options.aliases["python"] = "box";
  in_manager(options, [](pool::Manager& manager) -> Task<> {
    ClaimOptions claim;
    auto refused = co_await manager.acquire("cobol", claim);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::not_found);
    EXPECT_THAT(refused.error().message, HasSubstr("'cobol'"));
    EXPECT_THAT(refused.error().message, HasSubstr("box"));
    auto by_alias = co_await manager.acquire("python", claim, Deadline::after(60s));
    EXPECT_TRUE(by_alias);
  });
}

POOLS(ProfileThatCannotBeMade_FailsEachClaimWithTheReason) {
  Profile broken = profile(0, 2);
  broken.sandbox.image = "/nonexistent/image";
  in_manager(with(broken), [](pool::Manager& manager) -> Task<> {
    for (int i = 0; i < 2; ++i) {
      ClaimOptions claim;
      auto refused = co_await manager.acquire("box", claim, Deadline::after(60s));
      EXPECT_FALSE(refused);
      EXPECT_THAT(refused.error().message, HasSubstr("nonexistent"));
    }
    EXPECT_EQ(manager.stats().at("box").total, 0u);
    EXPECT_EQ(manager.stats().at("box").create_failures, 2u);
  });
}

}  // namespace cloche
