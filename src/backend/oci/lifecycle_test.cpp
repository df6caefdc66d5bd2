// From creation to the last trace, with every runtime of this host: what fails is taken back, what lives is met again.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

#include "backend/oci/files.hpp"
#include "backend/oci/record.hpp"
#include "backend/oci/runtime.hpp"
#include "backend/oci/testing/workbench.hpp"
#include "core/async/event.hpp"
#include "core/ids.hpp"
#include "support/missing.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

SandboxSpec spec_with(const std::string& runtime) {
  SandboxSpec spec;
  spec.runtime = runtime;
  return spec;
}

// Also if it is not a child of this process.
void wait_for_end(pid_t pid) {
  const UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended = {fd.get(), POLLIN, 0};
  if (fd) ::poll(&ended, 1, 10'000);
}

// A process that makes sandboxes and is then killed, as a server may be. It has no threads of the test's.
class DoomedMaker {
 public:
  DoomedMaker(const std::string& scratch, const std::string& instance, SandboxSpec spec) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      Workbench bench(scratch, instance);
      auto backend = bench.backend();
      auto sandbox = bench.make(*backend, std::move(spec));
      const std::string line =
          sandbox ? sandbox->id().value + " " + bench.ask(*sandbox, "as 1000 write /workspace/kept") : "failed";
      (void)!::write(ends[1], line.data(), line.size());
      ::close(ends[1]);
      while (true) ::pause();
    }
    ::close(ends[1]);
    char chunk[256];
    for (ssize_t n; (n = ::read(ends[0], chunk, sizeof chunk)) > 0;) said_.append(chunk, static_cast<std::size_t>(n));
    ::close(ends[0]);
  }
  ~DoomedMaker() { die(); }

  // The id of its sandbox, and "ok".
  const std::string& said() const { return said_; }
  void die() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  std::string said_;
};

class Lifecycle : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { CLOCHE_NEEDS_RUNTIME(GetParam()); }
};

TEST_P(Lifecycle, MakerKilled_SandboxIsMetAgain) {
  const ScratchDirectory scratch;
  const std::string instance = "test-met-again-" + std::string(GetParam());
  DoomedMaker maker(scratch.path(), instance, spec_with(GetParam()));
  ASSERT_THAT(maker.said(), HasSubstr(" ok"));
  const std::string id = maker.said().substr(0, maker.said().find(' '));

  Workbench bench(scratch.path(), instance);
  auto backend = bench.backend();
  // While its maker lives the sandbox is the maker's.
  EXPECT_EQ(bench.recover(*backend).size(), 0u);
  maker.die();
  auto found = bench.recover(*backend);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]->id().value, id);
  EXPECT_EQ(found[0]->runtime(), GetParam());
  EXPECT_EQ(found[0]->spec().work_dir, "/workspace");
  EXPECT_EQ(bench.ask(*found[0], "echo again"), "again");
  EXPECT_EQ(bench.ask(*found[0], "as 1000 open /workspace/kept"), "ok");
  bench.destroy(*found[0]);
  EXPECT_EQ(bench.recover(*backend).size(), 0u);
  EXPECT_EQ(bench.leftovers(), "");
}

// Freezes a process: it takes no signal, not even SIGKILL, until this goes.
class Frozen {
 public:
  static bool can_be_had() { return ::access("/sys/fs/cgroup/freezer/cgroup.procs", W_OK) == 0; }

  explicit Frozen(pid_t pid) : directory_("/sys/fs/cgroup/freezer/cloche-test-" + random_hex(6)) {
    ::mkdir(directory_.c_str(), 0755);
    (void)write_control(directory_ + "/cgroup.procs", std::to_string(pid));
    (void)write_control(directory_ + "/freezer.state", "FROZEN");
  }
  ~Frozen() {
    (void)write_control(directory_ + "/freezer.state", "THAWED");
    for (int i = 0; i < 1000 && ::rmdir(directory_.c_str()) != 0; ++i) std::this_thread::sleep_for(10ms);
  }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  std::string directory_;
};

TEST_P(Lifecycle, SandboxThatCannotBeRemoved_CostsNoOtherAndIsRemovedLater) {
  if (!Frozen::can_be_had()) CLOCHE_CANNOT_TEST("freezer", "the host has no freezer of cgroup v1");
  Workbench bench;
  auto backend = bench.backend();
  // The ids are random: one of three that live is met before the one that resists, or after it.
  std::vector<std::unique_ptr<Enclosure>> living;
  for (int i = 0; i < 3; ++i) living.push_back(bench.make(*backend, spec_with(GetParam())));
  auto stuck = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(stuck);
  const std::string id = stuck->id().value;
  const std::string file = bench.options().run_dir + "/" + bench.instance() + "/sandboxes/" + id + "/sandbox.json";
  const auto record = read_record(file);
  ASSERT_TRUE(record);
  std::optional<Frozen> frozen(record->first.pid);
  ASSERT_TRUE(remove_tree(file));

  const Deadline in_time = Deadline::after(18s);
  auto found = bench.run<Result<std::vector<std::unique_ptr<Enclosure>>>>(
      [&] { return backend->recover(Deadline::after(20s)); });
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), living.size());
  EXPECT_FALSE(in_time.passed()) << "one that resists has taken all the time there was";
  const auto unremoved = backend->unremoved();
  ASSERT_EQ(unremoved.size(), 1u);
  EXPECT_EQ(unremoved[0].sandbox, id);
  EXPECT_THAT(unremoved[0].why, HasSubstr("have not ended"));
  EXPECT_EQ(bench.ask(*living[0], "echo there"), "there");

  frozen.reset();
  for (int i = 0; i < 100 && !backend->unremoved().empty(); ++i) {
    bench.run<bool>([&]() -> Task<bool> {
      co_await backend->retry_removals();
      co_await pause_for(100ms);
      co_return true;
    });
  }
  EXPECT_EQ(backend->unremoved().size(), 0u);
  for (auto& each : *found) bench.destroy(*each);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, OtherInstance_IsLeftAlone) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  OciOptions others = bench.options();
  others.instance.value = "test-other-instance";
  auto other = bench.backend(others);
  EXPECT_EQ(bench.recover(*other).size(), 0u);
  EXPECT_EQ(bench.ask(*sandbox, "echo there"), "there");
  bench.destroy(*sandbox);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, HalfMadeAndDeadSandboxes_AreRemoved) {
  Workbench bench;
  auto backend = bench.backend();
  auto dead = bench.make(*backend, spec_with(GetParam()));
  auto without_record = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(dead && without_record);
  EXPECT_THAT(bench.ask(*dead, "quit"), HasSubstr("the agent is gone"));
  const std::string run = bench.options().run_dir + "/" + bench.instance() + "/sandboxes/";
  // The channel ends a moment before the process does.
  const auto record = read_record(run + dead->id().value + "/sandbox.json");
  ASSERT_TRUE(record);
  wait_for_end(record->first.pid);
  ASSERT_TRUE(remove_tree(run + without_record->id().value + "/sandbox.json"));
  EXPECT_EQ(bench.recover(*backend).size(), 0u);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, RunDirectoryLost_CgroupAndUidsAreStillFound) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  ASSERT_TRUE(remove_tree(bench.options().run_dir + "/" + bench.instance()));
  EXPECT_EQ(bench.recover(*backend).size(), 0u);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, AgentEnds_ChannelEndsAndEvidenceStays) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(bench.ask(*sandbox, "quit"), "(the agent is gone)");
  EXPECT_THAT(bench.ask(*sandbox, "echo x"), HasSubstr("the sandbox has ended"));
  const auto evidence = bench.run<Result<Evidence>>([&]() -> Task<Result<Evidence>> { return sandbox->evidence(); });
  EXPECT_TRUE(evidence);
  bench.destroy(*sandbox);
  bench.destroy(*sandbox);  // again is fine
  const auto late = bench.run<Result<Evidence>>([&]() -> Task<Result<Evidence>> { return sandbox->evidence(); });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::sandbox_lost);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, NoTimeLeft_NothingIsMade) {
  Workbench bench;
  auto backend = bench.backend();
  const auto made = bench.try_make(*backend, spec_with(GetParam()), Deadline::after(3ms));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::timeout) << made.error().message;
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, CancelledHalfWay_IsTakenBack) {
  Workbench bench;
  auto backend = bench.backend();
  // At different moments of the making.
  for (const auto after : {0ms, 2ms, 5ms, 10ms, 20ms, 60ms}) {
    asio::cancellation_signal cancel;
    std::optional<Result<std::unique_ptr<Enclosure>>> made;
    asio::co_spawn(
        bench.io(),
        [&]() -> Task<> {
          SandboxSpec spec = spec_with(GetParam());
          auto result = co_await backend->create(std::move(spec), Deadline::after(60s));
          made.emplace(std::move(result));
        },
        asio::bind_cancellation_slot(cancel.slot(), [](std::exception_ptr) {}));
    asio::steady_timer timer(bench.io(), after);
    timer.async_wait([&](boost::system::error_code) { cancel.emit(asio::cancellation_type::all); });
    bench.io().restart();
    bench.io().run();
    // Too late to be cancelled is possible, and then there is a sandbox.
    if (made && *made) {
      bench.destroy(***made);
    } else if (made) {
      EXPECT_EQ(made->error().code, ErrorCode::cancelled) << made->error().message;
    }
    EXPECT_EQ(bench.leftovers(), "") << "after " << after.count() << " ms";
  }
}

TEST_P(Lifecycle, ProgramsThatForkAndIgnore_EndWithTheSandbox) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  // Never answered: the command is busy while the sandbox is destroyed.
  bench.run<Status>([&]() -> Task<Status> { return sandbox->channel().write_all("burn 60000\n"); });
  const auto start = std::chrono::steady_clock::now();
  bench.destroy(*sandbox);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, DescriptorsUsedUpWhileItIsDestroyed_IsGoneOnceTheyAreBack) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit few{256, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> taken;
  for (UniqueFd fd(::dup(2)); fd; fd.reset(::dup(2))) taken.push_back(std::move(fd));
  std::thread giving_back([&] {
    std::this_thread::sleep_for(300ms);
    taken.clear();
  });
  bench.destroy(*sandbox);
  giving_back.join();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, ManyAtOnce_AllComeAndGo) {
  Workbench bench;
  auto backend = bench.backend();
  const int count = 6;
  std::vector<std::unique_ptr<Enclosure>> sandboxes;
  for (int i = 0; i < count; ++i) {
    asio::co_spawn(
        bench.io(),
        [&]() -> Task<> {
          SandboxSpec spec = spec_with(GetParam());
          auto made = co_await backend->create(std::move(spec), Deadline::after(100s));
          EXPECT_TRUE(made) << made.error().message;
          if (made) sandboxes.push_back(std::move(*made));
        },
        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  }
  bench.io().restart();
  bench.io().run();
  ASSERT_EQ(sandboxes.size(), static_cast<std::size_t>(count));
  for (auto& sandbox : sandboxes) EXPECT_EQ(bench.ask(*sandbox, "echo " + sandbox->id().value), sandbox->id().value);
  for (auto& sandbox : sandboxes) {
    asio::co_spawn(
        bench.io(),
        [&sandbox]() -> Task<> {
          const Status gone = co_await sandbox->destroy(Deadline::after(30s));
          EXPECT_TRUE(gone) << gone.error().message;
        },
        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  }
  bench.io().restart();
  bench.io().run();
  EXPECT_EQ(bench.leftovers(), "");
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Lifecycle, ::testing::Values("crun", "runc", "runsc"),
                         [](const auto& runtime) { return std::string(runtime.param); });

TEST(Create, RuntimeThatIsNotAtItsConfiguredPath_SaysSo) {
  Workbench bench;
  OciOptions options = bench.options();
  options.runtime_paths["crun"] = "/nonexistent/crun";
  auto backend = bench.backend(options);
  const auto made = bench.try_make(*backend, spec_with("crun"), Deadline::after(10s));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
  EXPECT_THAT(made.error().message, AllOf(HasSubstr("/nonexistent/crun"), HasSubstr("`runtimes`")));
  EXPECT_EQ(bench.leftovers(), "");
}

TEST(Create, RuntimeOfAConfiguredName_IsOfTheKindThatItsProgramSays) {
  CLOCHE_NEEDS_RUNTIME("crun");
  Workbench bench;
  RuntimeCatalog catalog({});
  const std::string crun = catalog.find("crun", Deadline::after(20s))->program;
  const std::string link = bench.scratch() / "another";
  std::filesystem::create_symlink(crun, link);
  OciOptions options = bench.options();
  options.runtime_paths["mine"] = link;
  auto backend = bench.backend(options);
  for (const std::string& name : {std::string("mine"), link}) {
    const auto sandbox = bench.make(*backend, spec_with(name));
    ASSERT_TRUE(sandbox);
    EXPECT_EQ(sandbox->runtime(), name);
    EXPECT_EQ(sandbox->kernel(), Kernel::shared);
    auto limits = sandbox->spec().limits;
    limits.pids += 1;
    EXPECT_TRUE(bench.run<Status>([&]() -> Task<Status> {
      auto set = co_await sandbox->set_limits(limits);
      co_return set;
    }));
    bench.destroy(*sandbox);
  }
  EXPECT_EQ(bench.leftovers(), "");
}

TEST(Runtimes, ProgramThatIsNoRuntime_IsRefusedWithWhatItSays) {
  RuntimeCatalog catalog(std::map<std::string, std::string>{{"mine", "/bin/echo"}});
  const auto found = catalog.find("mine", Deadline::after(20s));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unsupported);
  EXPECT_THAT(found.error().message, HasSubstr("/bin/echo"));
}

TEST(Runtimes, FirstInPath_IsTaken) {
  ScratchDirectory scratch;
  ASSERT_TRUE(write_file(scratch / "crun", "#!/bin/sh\necho crun version 99\n", 0755));
  const std::string before = ::getenv("PATH");
  ::setenv("PATH", ("relative:" + scratch.path() + ":" + before).c_str(), 1);
  RuntimeCatalog catalog({});
  const auto found = catalog.find("crun", Deadline::after(20s));
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->program, scratch / "crun");
}

TEST(Runtimes, OneThatIsNotInstalled_SaysWhereItWasSearched) {
  ScratchDirectory scratch;
  const std::string before = ::getenv("PATH");
  ::setenv("PATH", scratch.path().c_str(), 1);
  RuntimeCatalog catalog(std::map<std::string, std::string>{{"gone", "/nonexistent/gone"}});
  const auto known = catalog.find("gone", Deadline::after(20s));
  const auto unknown = catalog.find("lxc", Deadline::after(20s));
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_FALSE(known);
  EXPECT_THAT(known.error().message, HasSubstr("/nonexistent/gone is not an executable file"));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, AllOf(HasSubstr("crun"), HasSubstr("gone"), HasSubstr("absolute paths")));
}

TEST(Create, UnknownRuntime_NamesTheKnownOnes) {
  Workbench bench;
  auto backend = bench.backend();
  const auto made = bench.try_make(*backend, spec_with("lxc"), Deadline::after(10s));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
  EXPECT_THAT(made.error().message, AllOf(HasSubstr("lxc"), HasSubstr("crun")));
}

TEST(Create, RuntimeThatFails_IsQuotedAndTakenBack) {
  Workbench bench;
  OciOptions options = bench.options();
  const std::string fake = bench.scratch() / "fake-crun";
  ASSERT_TRUE(write_file(fake, "#!/bin/sh\necho 'no such kernel feature' >&2\nexit 3\n", 0755));
  options.runtime_paths["crun"] = fake;
  auto backend = bench.backend(options);
  const auto made = bench.try_make(*backend, spec_with("crun"), Deadline::after(10s));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message,
              AllOf(StartsWith("create sandbox: "), HasSubstr("no such kernel feature"), HasSubstr("exit code 3")));
  EXPECT_EQ(bench.leftovers(), "");
}

TEST(Create, RuntimeThatHangs_IsKilledAtTheDeadlineWithItsChildren) {
  Workbench bench;
  OciOptions options = bench.options();
  const std::string fake = bench.scratch() / "fake-crun";
  ASSERT_TRUE(write_file(fake, "#!/bin/sh\nsetsid sleep 1000 &\nsleep 1000\n", 0755));
  options.runtime_paths["crun"] = fake;
  auto backend = bench.backend(options);
  const auto made = bench.try_make(*backend, spec_with("crun"), Deadline::after(500ms));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::timeout);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST(Create, RuntimeThatMovesTheProcessAway_IsRefused) {
  Workbench bench;
  OciOptions options = bench.options();
  const std::string fake = bench.scratch() / "fake-crun";
  // Starts something and reports a process that does not belong to the sandbox.
  ASSERT_TRUE(write_file(
      fake, "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --pid-file ] && printf 1000000 >\"$2\"; shift; done\n",
      0755));
  options.runtime_paths["crun"] = fake;
  auto backend = bench.backend(options);
  const auto made = bench.try_make(*backend, spec_with("crun"), Deadline::after(10s));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::sandbox_lost);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST(Create, AgentThatIsNotThere_IsNamed) {
  Workbench bench;
  OciOptions options = bench.options();
  options.agent_path = "/nonexistent/agent";
  auto backend = bench.backend(options);
  const auto made = bench.try_make(*backend, spec_with("crun"), Deadline::after(10s));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::not_found);
  EXPECT_THAT(made.error().message, HasSubstr("/nonexistent/agent"));
}

TEST(Create, BadText_IsRefusedBeforeAnythingIsMade) {
  Workbench bench;
  auto backend = bench.backend();
  SandboxSpec spec = spec_with("crun");
  spec.work_dir = "/work\xff";
  EXPECT_EQ(bench.try_make(*backend, spec, Deadline::after(10s)).error().code, ErrorCode::invalid_argument);
  spec = spec_with("crun");
  spec.work_dir = "/a/../b";
  EXPECT_EQ(bench.try_make(*backend, spec, Deadline::after(10s)).error().code, ErrorCode::invalid_argument);
  spec = spec_with("crun");
  spec.limits.pids = 0;
  EXPECT_EQ(bench.try_make(*backend, spec, Deadline::after(10s)).error().code, ErrorCode::invalid_argument);
  spec = spec_with("runsc");
  spec.limits.memory = mib(8);
  if (has_runtime("runsc")) {
    const auto small = bench.try_make(*backend, spec, Deadline::after(10s));
    ASSERT_FALSE(small);
    EXPECT_EQ(small.error().code, ErrorCode::unsupported);
  }
  EXPECT_EQ(bench.leftovers(), "");
}

TEST(Create, Options_MustMakeSense) {
  Workbench bench;
  for (const char* instance : {"", "..", "a/b", "-x", "uids", "with space"}) {
    OciOptions options = bench.options();
    options.instance.value = instance;
    const auto made = create_oci_backend(bench.io().get_executor(), bench.pool(), options);
    ASSERT_FALSE(made) << instance;
    EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  }
  OciOptions options = bench.options();
  options.state_dir = "relative";
  EXPECT_FALSE(create_oci_backend(bench.io().get_executor(), bench.pool(), options));
}

TEST(Create, AutoRuntime_IsTheStrongestThatPasses) {
  Workbench bench;
  auto backend = bench.backend();
  const auto sandbox = bench.make(*backend, spec_with("auto"));
  ASSERT_TRUE(sandbox);
  const char* strongest = has_runtime("runsc") ? "runsc" : has_runtime("crun") ? "crun" : "runc";
  EXPECT_EQ(sandbox->runtime(), strongest);
  EXPECT_TRUE(path_exists(bench.options().run_dir + "/probe.json"));
  bench.destroy(*sandbox);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST(Create, AutoWithABrokenRuntime_TakesTheNext) {
  CLOCHE_NEEDS_RUNTIME("crun");
  Workbench bench;
  OciOptions options = bench.options();
  const std::string fake = bench.scratch() / "fake-runsc";
  ASSERT_TRUE(
      write_file(fake, "#!/bin/sh\n[ \"$1\" = flags ] && echo '-ignore-cgroups -oci-seccomp' && exit\nexit 1\n", 0755));
  options.runtime_paths["runsc"] = fake;
  auto backend = bench.backend(options);
  const auto sandbox = bench.make(*backend, spec_with("auto"));
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(sandbox->runtime(), "crun");
  bench.destroy(*sandbox);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST(Examine, ThisHost_HasAFindingForEachThing) {
  Workbench bench;
  auto backend = bench.backend();
  const auto findings = bench.run<std::vector<Finding>>(
      [&]() -> Task<std::vector<Finding>> { return backend->examine(Deadline::after(60s)); });
  std::string text;
  for (const Finding& finding : findings) {
    text += finding.name + ": " + finding.detail + "\n";
    EXPECT_EQ(finding.level == Finding::Level::good, finding.advice.empty()) << finding.name;
  }
  for (const char* name : {"root", "cgroups", "limits", "swap", "user namespaces", "kernel counters", "state_dir",
                           "uid ranges", "agent", "runtime crun", "runtime runc", "runtime runsc", "runtime auto"}) {
    EXPECT_THAT(text, HasSubstr(std::string(name) + ": "));
  }
  EXPECT_EQ(bench.leftovers(), "");
}

}  // namespace
}  // namespace cloche::oci
