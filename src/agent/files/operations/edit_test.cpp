// Exact replacements in a file.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "agent/files/testing/file_tester.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using wire::EditOutcome;
using wire::FileOp;

class EditTest : public BothWays {
 protected:
  wire::FileRequest edit(std::string_view path, std::string old, std::string replacement,
                         std::uint64_t expected = 1) const {
    auto request = beneath(FileOp::edit, path);
    request.pattern = std::move(old);
    request.replacement = std::move(replacement);
    request.expected = expected;
    return request;
  }
  // The outcome; a failure is one of the test.
  EditOutcome outcome(const wire::FileRequest& request) const {
    const Answer answer = run(request);
    EXPECT_THAT(answer.status, Succeeds());
    return answer.status ? answer.last().edit : EditOutcome::none;
  }
};

TEST_P(EditTest, OneOccurrence_IsReplaced_AndModeKept) {
  put("f", "one two three\n");
  ASSERT_EQ(::chmod(at("f").c_str(), 0751), 0);
  const Answer answer = run(edit("f", "two", "2"));
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_EQ(answer.last().edit, EditOutcome::done);
  EXPECT_EQ(answer.last().files, 1U);
  EXPECT_EQ(answer.last().bytes, 12U);
  EXPECT_EQ(get("f"), "one 2 three\n");
  EXPECT_EQ(mode("f"), 0751U);
  EXPECT_THAT(names(), ElementsAre("f"));
}

TEST_P(EditTest, Bytes_AreReplacedAsTheyAre) {
  const std::string before = std::string("a\0b\xff\r\nc\r\n", 9);
  put("f", before);
  EXPECT_EQ(outcome(edit("f", std::string("\0b\xff", 3), "\x80")), EditOutcome::done);
  EXPECT_EQ(get("f"), std::string("a\x80\r\nc\r\n"));
  EXPECT_EQ(outcome(edit("f", "c", "")), EditOutcome::done);
  EXPECT_EQ(get("f"), std::string("a\x80\r\n\r\n"));
}

TEST_P(EditTest, TextThatIsMissing_ChangesNothing) {
  put("f", "one\r\ntwo\r\n");
  Answer answer = run(edit("f", "three", "3"));
  EXPECT_EQ(answer.last().edit, EditOutcome::no_match);
  EXPECT_FALSE(answer.last().other_line_ends);
  answer = run(edit("f", "one\ntwo", "x"));
  EXPECT_EQ(answer.last().edit, EditOutcome::no_match);
  EXPECT_TRUE(answer.last().other_line_ends);
  EXPECT_EQ(get("f"), "one\r\ntwo\r\n");
}

TEST_P(EditTest, OtherCountThanExpected_ChangesNothing) {
  put("f", "a b a b a");
  Answer answer = run(edit("f", "a", "x"));
  EXPECT_EQ(answer.last().edit, EditOutcome::other_count);
  EXPECT_EQ(answer.last().files, 3U);
  EXPECT_EQ(outcome(edit("f", "b", "x", 3)), EditOutcome::other_count);
  EXPECT_EQ(get("f"), "a b a b a");
  EXPECT_EQ(outcome(edit("f", "b", "y", 2)), EditOutcome::done);
  EXPECT_EQ(outcome(edit("f", "a", "aa", 0)), EditOutcome::done);
  EXPECT_EQ(get("f"), "aa y aa y aa");
}

TEST_P(EditTest, OverlappingOccurrences_AreAmbiguous_UnlessAllAreReplaced) {
  put("f", "aaa");
  Answer answer = run(edit("f", "aa", "b"));
  EXPECT_EQ(answer.last().edit, EditOutcome::other_count);
  EXPECT_EQ(answer.last().files, 2U);
  answer = run(edit("f", "aa", "b", 0));
  EXPECT_EQ(answer.last().files, 1U);
  EXPECT_EQ(get("f"), "ba");
}

TEST_P(EditTest, Link_IsFollowedInside_AndRefusedOutside) {
  make("d");
  put("d/f", "old");
  link("d/f", "in");
  link("/etc/hostname", "out");
  EXPECT_EQ(outcome(edit("in", "old", "new")), EditOutcome::done);
  EXPECT_EQ(get("d/f"), "new");
  EXPECT_THAT(run(edit("out", "x", "y")).status, FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(names(), ElementsAre("d", "in", "out"));
}

TEST_P(EditTest, HardLink_KeepsItsContent) {
  put("f", "old");
  ASSERT_EQ(::link(at("f").c_str(), at("g").c_str()), 0);
  EXPECT_EQ(outcome(edit("f", "old", "new")), EditOutcome::done);
  EXPECT_EQ(get("g"), "old");
}

TEST_P(EditTest, WhatIsNoFile_IsRefused) {
  make("d");
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0666), 0);
  EXPECT_THAT(run(edit("d", "a", "b")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(run(edit("pipe", "a", "b")).status, FailsSaying(ErrorCode::invalid_argument, "is a FIFO"));
  EXPECT_THAT(run(edit("missing", "a", "b")).status, FailsWith(ErrorCode::not_found));
  EXPECT_THAT(run(edit("d/../f", "a", "b")).status, FailsWith(ErrorCode::invalid_argument));
  put("f", "a");
  EXPECT_THAT(run(edit("f", "", "b")).status, FailsSaying(ErrorCode::invalid_argument, "is empty"));
}

TEST_P(EditTest, HugeFilesAndTexts_AreRefused) {
  put("f", "a");
  ASSERT_EQ(::truncate(at("f").c_str(), 1LL << 40), 0);
  EXPECT_THAT(run(edit("f", "a", "b")).status, FailsWith(ErrorCode::limit_reached));
  put("g", std::string(1 << 20, 'a'));
  EXPECT_THAT(run(edit("g", "a", std::string(1000, 'b'), 0)).status, FailsWith(ErrorCode::limit_reached));
  EXPECT_THAT(run(edit("g", std::string((1 << 20) + 1, 'a'), "")).status, FailsWith(ErrorCode::limit_reached));
  EXPECT_EQ(get("g"), std::string(1 << 20, 'a'));
  EXPECT_THAT(names(), ElementsAre("f", "g"));
}

TEST_P(EditTest, TextThatNearlyMatchesEverywhere_TakesLinearTime) {
  put("f", std::string(8 << 20, 'a'));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome(edit("f", std::string(1 << 19, 'a') + "b", "c")), EditOutcome::no_match);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST_P(EditTest, ManyReplacements_AreMade) {
  put("f", std::string(1 << 20, 'a'));
  const Answer answer = run(edit("f", "a", "bc", 0));
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_EQ(answer.last().files, 1U << 20);
  EXPECT_EQ(get("f").size(), 2U << 20);
}

// A file that grows all the time is either edited whole or not at all; nothing that was appended is lost unseen.
TEST_P(EditTest, FileThatGrowsMeanwhile_IsWholeOrLeftAlone) {
  // Lines of 8 bytes: none crosses a page. The kernel shows other programs half of a write that does.
  put("f", "head...\n");
  const pid_t writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    const int file = ::open(at("f").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    for (int i = 0; i < 2000; ++i) (void)!::write(file, "line...\n", 8);
    ::_exit(0);
  }
  for (int i = 0; i < 20; ++i) {
    const EditOutcome how = outcome(edit("f", "head", "head"));
    EXPECT_TRUE(how == EditOutcome::done || how == EditOutcome::file_changed);
    const std::string content = get("f");
    EXPECT_TRUE(content.starts_with("head...\n"));
    EXPECT_EQ(content.size() % 8, 0U);
  }
  int status = 0;
  ::waitpid(writer, &status, 0);
  EXPECT_THAT(names(), ElementsAre("f"));
}

CLOCHE_BOTH_WAYS(EditTest);

}  // namespace
}  // namespace cloche::agent::testing
