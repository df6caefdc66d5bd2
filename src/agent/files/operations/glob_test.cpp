// glob on a disk.
#include "agent/files/testing/file_tester.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::FileOp;

class GlobTest : public FileTest {
 protected:
  wire::FileRequest pattern(std::string_view text) const {
    auto request = beneath(FileOp::glob, ".");
    request.pattern = text;
    return request;
  }
};

TEST_F(GlobTest, MatchesBelowThePath_Sorted) {
  make("src/deep/er");
  make(".git");
  for (const char* name : {"src/b.c", "src/a.c", "src/deep/c.c", "src/deep/er/d.h", "top.c", ".git/x.c", ".hidden.c"})
    put(name);
  EXPECT_THAT(run(pattern("*.c")).paths(), ElementsAre("top.c"));
  EXPECT_THAT(run(pattern("**/*.c")).paths(), ElementsAre("src/a.c", "src/b.c", "src/deep/c.c", "top.c"));
  EXPECT_THAT(run(pattern("src/**/*.{c,h}")).paths(),
              ElementsAre("src/a.c", "src/b.c", "src/deep/c.c", "src/deep/er/d.h"));
  EXPECT_THAT(run(pattern("**/")).paths(), ElementsAre("src", "src/deep", "src/deep/er"));
  EXPECT_THAT(run(pattern("none*")).paths(), IsEmpty());
  auto request = pattern("**/*.c");
  request.hidden = true;
  EXPECT_THAT(run(request).paths(),
              ElementsAre(".git/x.c", ".hidden.c", "src/a.c", "src/b.c", "src/deep/c.c", "top.c"));
  request.path = "src";
  EXPECT_THAT(run(request).paths(), ElementsAre("a.c", "b.c", "deep/c.c"));
}

TEST_F(GlobTest, LinksToDirectories_AreFoundButNotFollowed) {
  make("d");
  put("d/f");
  link("d", "l");
  link("..", "d/up");
  EXPECT_THAT(run(pattern("**")).paths(), ElementsAre("d", "d/f", "d/up", "l"));
  EXPECT_THAT(run(pattern("l/*")).paths(), IsEmpty());
}

TEST_F(GlobTest, MoreThanTheCap_IsCutAndSaid) {
  for (int i = 0; i < 20; ++i) put("f" + std::to_string(10 + i));
  auto request = pattern("f*");
  request.max_results = 20;
  EXPECT_FALSE(run(request).last().cut);
  request.max_results = 5;
  const Answer answer = run(request);
  EXPECT_TRUE(answer.last().cut);
  EXPECT_THAT(answer.paths(), ElementsAre("f10", "f11", "f12", "f13", "f14"));
}

TEST_F(GlobTest, BadPattern_IsRefused) {
  for (const char* text : {"", "/etc/*", "../*", "{a"}) {
    EXPECT_THAT(run(pattern(text)).status, FailsWith(ErrorCode::invalid_argument)) << text;
  }
}

TEST_F(GlobTest, DeepTree_IsSearchedToTheBottom) {
  make_deep(3000, "d", true);
  EXPECT_EQ(run(pattern("**/f")).paths().size(), 3000U);
}

TEST_F(GlobTest, FileAsPath_IsFoundItself) {
  make("d");
  put("d/a.py", "text");
  auto request = pattern("*.py");
  request.path = "d/a.py";
  const Answer answer = run(request);
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_THAT(answer.paths(), ElementsAre("a.py"));
  EXPECT_EQ(answer.entries()[0].size, 4U);
  request.pattern = "*.c";
  EXPECT_THAT(run(request).paths(), IsEmpty());
  request.path = "d/missing";
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::not_found));
}

TEST_F(GlobTest, ExcludedNamesAndPaths_AreNotFound_NorWhatIsBelow) {
  make("src/build/deep");
  make("node_modules/x");
  for (const char* name : {"a.c", "src/a.c", "src/a.pyc", "src/build/a.c", "src/build/deep/a.c", "node_modules/x/a.c"})
    put(name);
  auto request = pattern("**/*.{c,pyc}");
  request.exclude = {"node_modules", "*.pyc", "src/build"};
  EXPECT_THAT(run(request).paths(), ElementsAre("a.c", "src/a.c"));
  request.exclude = {"src/"};
  EXPECT_THAT(run(request).paths(), ElementsAre("a.c", "node_modules/x/a.c"));
  request.exclude = {"a.c/"};
  EXPECT_EQ(run(request).paths().size(), 6U) << "a slash at the end is for directories";
}

TEST_F(GlobTest, BadExclude_IsRefused) {
  auto request = pattern("*");
  for (const char* bad : {"", "/abs", "a/../b"}) {
    request.exclude = {bad};
    EXPECT_THAT(run(request).status, FailsSaying(ErrorCode::invalid_argument, "exclude")) << bad;
  }
  request.exclude = std::vector<std::string>(101, "x");
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::invalid_argument));
}

}  // namespace
}  // namespace cloche::agent::testing
