#include "egress/secrets/secret_source.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "auth/testing/scratch.hpp"
#include "support/result_matchers.hpp"

namespace cloche::egress {
namespace {

using auth::testing::put_file;
using testing_support::FailsSaying;
using testing_support::FailsWith;
using testing_support::Succeeds;
using Source = EgressSecret::Source;

const CancelToken patient{Deadline::after(std::chrono::minutes(1))};

Result<std::string> read(Source source, std::string text) {
  EgressSecret secret;
  secret.source = source;
  secret.text = std::move(text);
  return read_secret(secret, patient);
}

Result<std::string> read_command(std::vector<std::string> command, const CancelToken& token = patient) {
  EgressSecret secret;
  secret.source = Source::command;
  secret.command = std::move(command);
  return read_secret(secret, token);
}

TEST(SecretSource, Value_IsTheSecret) {
  EXPECT_EQ(read(Source::value, "a secret of ours").value_or(""), "a secret of ours");
}

TEST(SecretSource, ValueOfAWrongSize_IsRefusedWithoutBeingShown) {
  EXPECT_THAT(read(Source::value, ""), FailsSaying(ErrorCode::invalid_argument, "empty"));
  const auto brief = read(Source::value, "hunter2");
  EXPECT_THAT(brief, FailsSaying(ErrorCode::invalid_argument, "shorter than 8"));
  EXPECT_EQ(brief.error().message.find("hunter2"), std::string::npos);
  EXPECT_THAT(read(Source::value, std::string(8192, 'x')), Succeeds());
  EXPECT_THAT(read(Source::value, std::string(8193, 'x')), FailsSaying(ErrorCode::invalid_argument, "larger than"));
}

TEST(SecretSource, Variable_IsReadWhenAsked) {
  ::unsetenv("CLOCHE_TEST_SECRET");
  EXPECT_THAT(read(Source::env, "CLOCHE_TEST_SECRET"), FailsSaying(ErrorCode::not_found, "CLOCHE_TEST_SECRET"));
  ::setenv("CLOCHE_TEST_SECRET", "from the environment", 1);
  EXPECT_EQ(read(Source::env, "CLOCHE_TEST_SECRET").value_or(""), "from the environment");
  ::unsetenv("CLOCHE_TEST_SECRET");
}

TEST(SecretSource, File_IsReadWithoutTheLastLineBreak) {
  const auth::testing::ScratchDir scratch;
  const std::string path = scratch / "key";
  for (const char* end : {"", "\n", "\r\n"}) {
    put_file(path, std::string("from a file") + end);
    EXPECT_EQ(read(Source::file, path).value_or(""), "from a file");
  }
  put_file(path, "two lines\n\n");
  EXPECT_EQ(read(Source::file, path).value_or(""), "two lines\n");
  put_file(path, "for the group", 0640);
  EXPECT_EQ(read(Source::file, path).value_or(""), "for the group");
}

TEST(SecretSource, FileThatIsNotASecret_IsRefused) {
  const auth::testing::ScratchDir scratch;
  const std::string path = scratch / "key";
  EXPECT_THAT(read(Source::file, path), FailsWith(ErrorCode::not_found));
  put_file(path, "for everyone", 0644);
  EXPECT_THAT(read(Source::file, path), FailsSaying(ErrorCode::permission_denied, "chmod o-r"));
  put_file(path, "for everyone", 0622);
  EXPECT_THAT(read(Source::file, path), FailsWith(ErrorCode::permission_denied));
  put_file(path, std::string(1 << 20, 'x'));
  EXPECT_THAT(read(Source::file, path), FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(read(Source::file, scratch / "."), FailsWith(ErrorCode::invalid_argument));
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(read(Source::file, scratch / "pipe"), FailsWith(ErrorCode::invalid_argument));
}

TEST(SecretSource, FileThatIsALink_IsFollowed) {
  // As mounted secrets are.
  const auth::testing::ScratchDir scratch;
  put_file(scratch / "one", "the first one\n");
  ASSERT_EQ(::symlink("one", (scratch / "two").c_str()), 0);
  EXPECT_EQ(read(Source::file, scratch / "two").value_or(""), "the first one");
}

TEST(SecretSource, Command_IsWhatItPrints) {
  EXPECT_EQ(read_command({"printf", "from a command\\n"}).value_or(""), "from a command");
  EXPECT_EQ(read_command({"sh", "-c", "echo noise >&2; echo from a shell"}).value_or(""), "from a shell");
}

TEST(SecretSource, CommandThatFails_IsAnErrorWithoutItsOutput) {
  const auto failed = read_command({"sh", "-c", "echo the-secret; echo the-secret >&2; exit 3"});
  EXPECT_THAT(failed, FailsSaying(ErrorCode::unavailable, "exit code 3"));
  EXPECT_EQ(failed.error().message.find("the-secret"), std::string::npos);
  EXPECT_THAT(read_command({"true"}), FailsSaying(ErrorCode::invalid_argument, "empty"));
  EXPECT_THAT(read_command({"/no/such/program"}), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(read_command({"no-such-program-here"}), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(read_command({}), FailsWith(ErrorCode::invalid_argument));
}

TEST(SecretSource, CommandThatHangs_IsKilledAtTheDeadline) {
  const auth::testing::ScratchDir scratch;
  const std::string script = "echo $$ > " + (scratch / "pid") + "; echo partial-secret; exec sleep 1000";
  const auto hung = read_command({"sh", "-c", script}, CancelToken(Deadline::after(std::chrono::milliseconds(500))));
  ASSERT_THAT(hung, FailsWith(ErrorCode::timeout));
  EXPECT_EQ(hung.error().message.find("partial"), std::string::npos);
  const std::string pid = auth::testing::file_text(scratch / "pid");
  if (pid.empty()) return;  // it did not get so far
  EXPECT_NE(::access(("/proc/" + pid.substr(0, pid.find('\n'))).c_str(), F_OK), 0);
}

TEST(SecretSource, CommandThatPrintsWithoutEnd_IsKilledSoon) {
  EXPECT_THAT(read_command({"cat", "/dev/zero"}), FailsSaying(ErrorCode::limit_reached, "printed more"));
}

TEST(SecretSource, CommandThatIsNoLongerNeeded_IsKilled) {
  const CancelToken token(Deadline::never());
  token.cancel();
  EXPECT_THAT(read_command({"sleep", "1000"}, token), FailsWith(ErrorCode::cancelled));
}

}  // namespace
}  // namespace cloche::egress
