// Late binding: environment, secrets, limits, work directory and files on a sandbox that is warm already.
#include "support/pools.hpp"

namespace cloche {

POOLS(Claim_BindsEnvironmentSecretsFilesAndWorkDirectoryWithoutANewSandbox) {
  Profile bound = profile(1, 1);
  bound.env["COLOUR"] = "red";
  bound.secrets.push_back("POOL_TOKEN");
  ManagerOptions options = with(bound);
  options.secrets["POOL_TOKEN"] = "t0ken";
  options.secrets["DB_PASSWORD"] = "pa$$ word";
  in_manager(options, [](pool::Manager& manager) -> Task<> {
    std::string id;
    {
      ClaimOptions claim;
      claim.env["COLOUR"] = "blue";
      claim.secrets.push_back("DB_PASSWORD");
      claim.work_dir = "deep/er";
      claim.files["data/in.txt"] = "hello";
      pool::Lease lease = co_await lend(manager, claim);
      id = lease->id().value;
      const std::string said =
          co_await shell(lease, "echo $COLOUR,$POOL_TOKEN,$DB_PASSWORD; pwd | tail -c 8; cat data/in.txt");
      EXPECT_EQ(said, "blue,t0ken,pa$$ word\ndeep/er\nhello");
      // The program's own settings win.
      ExecSpec own = ExecSpec::shell("echo $COLOUR; pwd");
      own.env["COLOUR"] = "green";
      own.cwd = "/tmp";
      auto ran = co_await lease.run(std::move(own));
      EXPECT_TRUE(ran);
      EXPECT_EQ(ran->out, "green\n/tmp\n");
    }
    pool::Lease next = co_await lend(manager);
    EXPECT_EQ(next->id().value, id) << "a new sandbox was made";
    const std::string said = co_await shell(next, "echo $COLOUR,$POOL_TOKEN,$DB_PASSWORD; find . -mindepth 1");
    EXPECT_EQ(said, "red,t0ken,\n");
  });
}

POOLS(MissingSecret_IsAnErrorThatNamesItAndLendsNothing) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) -> Task<> {
    ClaimOptions claim;
    claim.secrets.push_back("NO_SUCH_SECRET_HERE");
    auto refused = co_await manager.acquire("box", claim);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::not_found);
    EXPECT_THAT(refused.error().message, HasSubstr("NO_SUCH_SECRET_HERE"));
    EXPECT_EQ(manager.stats().at("box").active, 0u);
  });
}

POOLS(BoundLimits_HoldForTheLeaseAndGoBackWithTheReset) {
  if (fake_has_no("limits")) return;
  if (target().backend == "docker" && target().is_gvisor()) {
    CLOCHE_DOES_NOT_APPLY("docker with runsc cannot change the limits of a living sandbox");
  }
  Profile small = profile(1, 1);
  small.sandbox.limits.memory = mib(target().is_gvisor() ? 512 : 128);
  in_manager(with(small), [&](pool::Manager& manager) -> Task<> {
    const std::string hog = "python3 -c 'x = bytearray(160 << 20); print(len(x))'";
    std::string id;
    {
      ClaimOptions claim;
      claim.limits.memory = mib(1024);
      claim.limits.file_size = kib(64);
      pool::Lease lease = co_await lend(manager, claim);
      id = lease->id().value;
      const std::string large = co_await shell(lease, hog);
      EXPECT_EQ(large, "167772160\n");
      const std::string size = co_await shell(lease, "ulimit -f");
      EXPECT_EQ(size, "128\n");  // in units of 512 bytes
    }
    pool::Lease lease = co_await lend(manager);
    EXPECT_EQ(lease->id().value, id);
    EXPECT_EQ(lease->limits().memory, small.sandbox.limits.memory);
    const std::string size = co_await shell(lease, "ulimit -f");
    EXPECT_EQ(size, "20480\n");
    if (target().is_gvisor()) co_return;  // there the limit is the sentry's as well
    ExecSpec spec = ExecSpec::shell(hog);
    auto ran = co_await lease.run(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran && ran->outcome.ending == Ending::memory_limit);
  });
}

POOLS(BindingThatCannotBe_FailsTheClaimAndTheSandboxIsStillGood) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) -> Task<> {
    ClaimOptions outside;
    outside.files["../../etc/passwd"] = "x";
    auto refused = co_await manager.acquire("box", outside);
    EXPECT_FALSE(refused);
    ClaimOptions read_only;
    read_only.work_dir = "/usr/here";
    refused = co_await manager.acquire("box", read_only);
    EXPECT_FALSE(refused);
    ClaimOptions dots;
    dots.work_dir = "a/../../b";
    refused = co_await manager.acquire("box", dots);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    ClaimOptions absurd;
    absurd.limits.memory = Bytes{1};
    refused = co_await manager.acquire("box", absurd);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    pool::Lease lease = co_await lend(manager);
    const std::string said = co_await shell(lease, "echo well");
    EXPECT_EQ(said, "well\n");
  });
}

}  // namespace cloche
