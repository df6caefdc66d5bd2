#include "backend/oci/runtime/command.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "backend/oci/files.hpp"
#include "backend/oci/testing/workbench.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<CommandEnd> shell(const std::string& line, Deadline deadline = Deadline::after(20s)) {
  Command command;
  command.program = "/bin/sh";
  command.arguments = {"-c", line};
  return run_command(command, deadline);
}

TEST(Command, Output_IsKeptUpToABound) {
  EXPECT_EQ(shell("echo out; echo err >&2").value().output, "out\nerr\n");
  EXPECT_EQ(shell("exit 7").value().exit_code, 7);
  EXPECT_EQ(shell("kill -9 $$").value().exit_code, 137);
  EXPECT_LE(shell("head -c 1000000 /dev/zero | tr '\\0' x; true").value().output.size(), 65536u);
}

TEST(Command, Environment_IsAPathAlone) {
  ::setenv("CLOCHE_TEST_SECRET", "secret", 1);
  EXPECT_EQ(shell("echo ${CLOCHE_TEST_SECRET-none}").value().output, "none\n");
  ::unsetenv("CLOCHE_TEST_SECRET");
}

TEST(Command, PastTheDeadline_IsKilled) {
  const auto end = shell("exec sleep 100", Deadline::after(50ms));
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::timeout);
}

TEST(Command, PrivateMounts_AreNotTheHosts) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(make_directory(scratch / "stage", 0755));
  ASSERT_TRUE(make_directory(scratch / "data", 0755));
  ASSERT_TRUE(write_file(scratch / "data/file", "seen", 0644));
  Command command;
  command.program = "/bin/sh";
  command.arguments = {
      "-c", "cat " + (scratch / "stage/0/file") + "; touch " + (scratch / "stage/0/new") + " || echo read-only"};
  command.private_mounts = {{MountStep::Kind::tmpfs, {}, scratch / "stage"},
                            {MountStep::Kind::make_directory, {}, scratch / "stage/0"},
                            {MountStep::Kind::bind, scratch / "data", scratch / "stage/0"},
                            {MountStep::Kind::protect, {}, scratch / "stage/0"}};
  const auto end = run_command(command, Deadline::after(20s));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_THAT(end->output, ::testing::AllOf(HasSubstr("seen"), HasSubstr("read-only")));
  EXPECT_THAT(list_directory(scratch / "stage").value(), IsEmpty());
  command.private_mounts = {{MountStep::Kind::bind, scratch / "absent", scratch / "stage"}};
  EXPECT_THAT(run_command(command, Deadline::after(20s)).error().message, HasSubstr("show a source"));
}

}  // namespace
}  // namespace cloche::oci
