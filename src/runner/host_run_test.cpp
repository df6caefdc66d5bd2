#include "runner/host_run.hpp"
#include "support/missing.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "support/eventually.hpp"

namespace cloche::runner {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Exec::Collected run(std::vector<std::string> argv, std::string input = {}, std::chrono::milliseconds wall = 20s) {
  auto directory = HostDirectory::make({{"deep/file.txt", "content"}});
  EXPECT_TRUE(directory) << directory.error().message;
  HostRun host;
  host.argv = std::move(argv);
  host.directory = directory->path();
  host.input = std::move(input);
  host.wall = wall;
  host.output = kib(64);
  auto ran = run_on_host(host);
  EXPECT_TRUE(ran) << ran.error().message;
  return ran.value_or(Exec::Collected());
}

TEST(HostRun, Program_RunsInItsDirectoryWithItsInput) {
  const auto ran = run({"sh", "-c", "cat; cat deep/file.txt; echo e >&2; exit 3"}, "in\n");
  EXPECT_EQ(ran.out, "in\ncontent");
  EXPECT_EQ(ran.err, "e\n");
  EXPECT_EQ(ran.outcome.ending, Ending::exited);
  EXPECT_EQ(ran.outcome.exit_code, 3);
}

TEST(HostRun, Root_IsGivenUpFirst) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "needs root");
  EXPECT_EQ(run({"id", "-u"}).out, "65534\n");
  EXPECT_EQ(run({"id", "-G"}).out, "65534\n");
}

TEST(HostRun, EnvironmentOfThisProcess_IsNotPassedOn) {
  ::setenv("CLOCHE_HOST_SECRET", "s", 1);
  EXPECT_EQ(run({"sh", "-c", "echo $CLOCHE_HOST_SECRET"}).out, "\n");
}

TEST(HostRun, Limits_EndTheWholeSession) {
  const auto slow = run({"sh", "-c", "sleep 1000 & echo $!; sleep 1000"}, "", 500ms);
  EXPECT_EQ(slow.outcome.ending, Ending::wall_limit);
  // Killed with the rest; its new parent may take a moment to reap it.
  const std::string left = "/proc/" + slow.out.substr(0, slow.out.find('\n')) + "/root";
  EXPECT_TRUE(testing_support::eventually([&] { return !std::filesystem::exists(left); }));
  const auto flood = run({"yes"});
  EXPECT_EQ(flood.outcome.ending, Ending::output_limit);
  EXPECT_EQ(flood.out.size(), kib(64).count);
}

TEST(HostRun, ChildThatHoldsTheOutput_IsNotWaitedFor) {
  const auto ran = run({"sh", "-c", "sleep 1000 & echo done"});
  EXPECT_EQ(ran.outcome.ending, Ending::exited);
  EXPECT_EQ(ran.out, "done\n");
}

TEST(HostRun, MissingProgram_WasNotStarted) {
  const auto ran = run({"no-such-program"});
  EXPECT_EQ(ran.outcome.ending, Ending::not_started);
  EXPECT_EQ(ran.outcome.exit_code, 127);
  EXPECT_THAT(ran.outcome.reason, HasSubstr("no-such-program"));
}

TEST(HostRun, Signals_AreTold) {
  const auto ran = run({"sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(ran.outcome.ending, Ending::signalled);
  EXPECT_EQ(ran.outcome.signal, 11);
}

}  // namespace
}  // namespace cloche::runner
