// grep on a disk.
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/testing/file_tester.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::FileOp;

class GrepTest : public FileTest {
 protected:
  wire::FileRequest search(std::string_view pattern, std::string_view path = ".") const {
    auto request = beneath(FileOp::grep, path);
    request.pattern = pattern;
    return request;
  }
  // "path:line:text" with '-' for context.
  static std::vector<std::string> told(const Answer& answer) {
    std::vector<std::string> all;
    for (const auto& match : answer.matches()) {
      all.push_back(match.path + (match.is_context ? "-" : ":") + std::to_string(match.line) +
                    (match.is_context ? "-" : ":") + match.text);
    }
    return all;
  }
};

TEST_F(GrepTest, Lines_AreFoundByPathAndNumber) {
  make("d");
  put("b.txt", "one\ntwo\nthree two");
  put("d/a.txt", "two\r\n");
  put("a.txt", "nothing");
  const Answer answer = run(search("t.o"));
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_THAT(told(answer), ElementsAre("b.txt:2:two", "b.txt:3:three two", "d/a.txt:1:two\r"));
  EXPECT_EQ(answer.last().files, 3U);
  EXPECT_THAT(told(run(search("two", "b.txt"))), ElementsAre("b.txt:2:two", "b.txt:3:three two"));
}

TEST_F(GrepTest, Case_IsIgnoredWhenAsked) {
  put("f", "HELLO\nhello\n");
  auto request = search("hello");
  EXPECT_EQ(run(request).matches().size(), 1U);
  request.ignore_case = true;
  EXPECT_EQ(run(request).matches().size(), 2U);
}

TEST_F(GrepTest, Context_ComesOnce) {
  put("f", "1\n2\n3 x\n4\n5 x\n6\n7\n8\n9 x\n");
  auto request = search("x");
  request.context_lines = 1;
  EXPECT_THAT(told(run(request)), ElementsAre("f-2-2", "f:3:3 x", "f-4-4", "f:5:5 x", "f-6-6", "f-8-8", "f:9:9 x"));
  request.context_lines = 1000;
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::invalid_argument));
}

TEST_F(GrepTest, Filter_TakesPathOrName) {
  make("src/x");
  for (const char* name : {"src/x/a.py", "src/b.py", "src/c.txt", "d.py"}) put(name, "hit");
  auto request = search("hit");
  request.glob = "*.py";
  EXPECT_EQ(run(request).matches().size(), 3U);
  request.glob = "src/**/*.py";
  EXPECT_THAT(told(run(request)), ElementsAre("src/b.py:1:hit", "src/x/a.py:1:hit"));
  request.glob = "{bad";
  EXPECT_THAT(run(request).status, FailsSaying(ErrorCode::invalid_argument, "glob: pattern"));
}

TEST_F(GrepTest, BinaryFiles_AreSkippedAndCounted) {
  put("binary", std::string("hit\0hit\n", 8));
  put("late", std::string(9000, 'x') + "\nhit" + std::string(1, '\0') + "\n");
  put("text", "hit\n");
  const Answer answer = run(search("hit"));
  EXPECT_EQ(answer.matches().size(), 2U);
  EXPECT_EQ(answer.last().skipped, 1U);
  EXPECT_EQ(answer.last().files, 2U);
}

TEST_F(GrepTest, HugeSparseFile_IsSkippedAtOnce) {
  put("sparse");
  ASSERT_EQ(::truncate(at("sparse").c_str(), 1LL << 42), 0);
  EXPECT_EQ(run(search("x")).last().skipped, 1U);
}

TEST_F(GrepTest, LongLines_AreMatchedAtTheirBeginning_AndCut) {
  put("f", std::string(60'000, 'a') + "hit" + std::string(60'000, 'a') + "late\nlate\n");
  auto matches = run(search("hit")).matches();
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].text.size(), 2048U);
  EXPECT_TRUE(matches[0].text_cut);
  matches = run(search("late")).matches();
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].line, 2U);
  EXPECT_FALSE(matches[0].text_cut);
}

TEST_F(GrepTest, MoreThanTheCap_IsCutAndSaid) {
  std::string lines;
  for (int i = 0; i < 1500; ++i) lines += "hit " + std::to_string(i) + "\n";
  put("f", lines);
  Answer answer = run(search("hit"));
  EXPECT_EQ(answer.matches().size(), 1000U);
  EXPECT_TRUE(answer.last().cut);
  EXPECT_GT(answer.replies.size(), 1U);
  auto request = search("hit");
  request.max_results = 1500;
  answer = run(request);
  EXPECT_EQ(answer.matches().size(), 1500U);
  EXPECT_FALSE(answer.last().cut);
}

TEST_F(GrepTest, BadPattern_IsRefusedInItsOwnWords) {
  EXPECT_THAT(run(search("a(b")).status, FailsSaying(ErrorCode::invalid_argument, "missing )"));
  EXPECT_THAT(run(search("")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(run(search("\\1")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(run(search("(((a{100}){100}){100}){100}")).status, FailsWith(ErrorCode::invalid_argument));
}

TEST_F(GrepTest, PatternThatExplodesElsewhere_TakesLinearTime) {
  put("f", std::string(60'000, 'a') + "\n");
  EXPECT_THAT(run(search("(a*)*(a*)*(a*)*b")).matches(), IsEmpty());
  EXPECT_THAT(run(search("(x+x+)+y")).matches(), IsEmpty());
}

TEST_F(GrepTest, LinksFifosAndUnreadableFiles_DoNotStopIt) {
  make("d");
  put("d/f", "hit\n");
  link("d", "l");
  link("d/f", "m");
  link("..", "d/up");
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0666), 0);
  EXPECT_THAT(told(run(search("hit"))), ElementsAre("d/f:1:hit"));
  EXPECT_THAT(run(search("hit", "fifo")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(told(run(search("hit", "m"))), ElementsAre("m:1:hit"));
  if (!is_root()) return;
  put("closed", "hit\n");
  ::chmod(at("closed").c_str(), 0);
  const Answer answer = run_as_user(search("hit"));
  EXPECT_THAT(told(answer), ElementsAre("d/f:1:hit"));
  EXPECT_EQ(answer.last().skipped, 1U);
}

TEST_F(GrepTest, BytesThatAreNoUtf8_AreKept) {
  put("f", "caf\xe9 hit\n");
  EXPECT_THAT(told(run(search("hit"))), ElementsAre("f:1:caf\xe9 hit"));
}

TEST_F(GrepTest, DeepTree_IsSearchedToTheBottom) {
  make_deep(3000, "d", true);
  auto request = search("deep");
  request.max_results = 5000;
  EXPECT_EQ(run(request).matches().size(), 3000U);
}

TEST_F(GrepTest, BinaryAndUnreadableFiles_AreCountedApart) {
  put("binary", std::string("hit\0", 4));
  put("text", "hit\n");
  put("closed", "hit\n");
  Answer answer = run(search("hit"));
  EXPECT_EQ(answer.last().binary, 1U);
  EXPECT_EQ(answer.last().skipped, 1U);
  if (!is_root()) return;
  ::chmod(at("closed").c_str(), 0);
  answer = run_as_user(search("hit"));
  EXPECT_EQ(answer.last().binary, 1U);
  EXPECT_EQ(answer.last().skipped, 2U);
}

TEST_F(GrepTest, ExcludedAndHiddenNames_AreNotSearched) {
  make(".git");
  make("build");
  for (const char* name : {".git/x", ".env", "build/x", "a.log", "a.txt"}) put(name, "hit\n");
  auto request = search("hit");
  EXPECT_EQ(run(request).matches().size(), 5U);
  request.exclude = {"*.log", "build"};
  EXPECT_THAT(told(run(request)), ElementsAre(".env:1:hit", ".git/x:1:hit", "a.txt:1:hit"));
  request.skip_hidden = true;
  EXPECT_THAT(told(run(request)), ElementsAre("a.txt:1:hit"));
  request.exclude = {"/abs"};
  EXPECT_THAT(run(request).status, FailsSaying(ErrorCode::invalid_argument, "exclude"));
}

}  // namespace
}  // namespace cloche::agent::testing
