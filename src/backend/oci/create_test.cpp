// What a sandbox is created with: runtimes and how they are found, options, and what fails is undone.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "backend/oci/files.hpp"
#include "backend/oci/runtime/runtime.hpp"
#include "backend/oci/testing/workbench.hpp"
#include "support/missing.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
