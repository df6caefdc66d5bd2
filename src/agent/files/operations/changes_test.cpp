// Finding what was made or changed since a mark.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/testing/file_tester.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::FileOp;

class ChangesTest : public FileTest {
 protected:
  std::int64_t mark() const {
    const Answer answer = run(beneath(FileOp::mark, "."));
    EXPECT_THAT(answer.status, Succeeds());
    return answer.last().moment_ns;
  }
  wire::FileRequest since(std::int64_t moment) const {
    auto request = beneath(FileOp::changes, ".");
    request.since_ns = moment;
    return request;
  }
};

TEST_F(ChangesTest, FileMadeBeforeTheMark_IsNotTold_AndAfterIt_IsTold) {
  // Again and again, so that marks fall close to changes on both sides.
  for (int i = 0; i < 50; ++i) {
    const std::string before = "before" + std::to_string(i);
    const std::string after = "after" + std::to_string(i);
    put(before, "x");
    const std::int64_t moment = mark();
    put(after, "y");
    const Answer answer = run(since(moment));
    ASSERT_THAT(answer.status, Succeeds());
    ASSERT_THAT(answer.paths(), ElementsAre(after));
  }
}

TEST_F(ChangesTest, FileChangedWithItsOldTimeSet_IsTold) {
  make("d");
  put("d/kept", "1");
  put("d/written", "1");
  put("d/renamed", "1");
  put("d/mode", "1");
  const std::int64_t moment = mark();
  put("d/written", "2");
  const timespec long_ago[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("d/written").c_str(), long_ago, 0), 0);
  ASSERT_EQ(::rename(at("d/renamed").c_str(), at("d/new name").c_str()), 0);
  ASSERT_EQ(::chmod(at("d/mode").c_str(), 0600), 0);
  EXPECT_THAT(run(since(moment)).paths(), ElementsAre("d/mode", "d/new name", "d/written"));
}

TEST_F(ChangesTest, OnlyRegularFilesAreTold_AndLinksAreNotFollowed) {
  make("outside");
  const std::int64_t moment = mark();
  put("outside/f", "x");
  make("tree/dir");
  put("tree/dir/f", "x");
  link("../outside", "tree/link");
  link("dir/f", "tree/to-file");
  ASSERT_EQ(::mkfifo(at("tree/pipe").c_str(), 0666), 0);
  auto request = since(moment);
  request.path = "tree";
  EXPECT_THAT(run(request).paths(), ElementsAre("dir/f"));
}

TEST_F(ChangesTest, SparseFile_TellsItsWholeSize) {
  const std::int64_t moment = mark();
  put("huge");
  ASSERT_EQ(::truncate(at("huge").c_str(), std::int64_t{1} << 40), 0);
  const auto entries = run(since(moment)).entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries.front().size, std::uint64_t{1} << 40);
}

TEST_F(ChangesTest, MoreThanTheCaps_IsCutAndSaid) {
  const std::int64_t moment = mark();
  for (int i = 0; i < 9; ++i) put("f" + std::to_string(i));
  auto request = since(moment);
  request.max_results = 3;
  EXPECT_THAT(run(request).paths(), ElementsAre("f0", "f1", "f2"));
  EXPECT_TRUE(run(request).last().cut);
  request.max_results = 9;
  EXPECT_FALSE(run(request).last().cut);
  request.max_entries = 9;
  EXPECT_FALSE(run(request).last().cut);
  request.max_entries = 8;
  EXPECT_TRUE(run(request).last().cut);
  request.since_ns = mark();
  EXPECT_TRUE(run(request).last().cut) << "nothing was found, but not all was looked at";
}

TEST_F(ChangesTest, DeepTree_IsCutAndSaid) {
  const std::int64_t moment = mark();
  make_deep(3000, "d", true);
  const Answer answer = run(since(moment));
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_TRUE(answer.last().cut);
  EXPECT_GT(answer.paths().size(), 100U);
  EXPECT_LT(answer.paths().size(), 200U);
}

TEST_F(ChangesTest, UnreadableDirectory_IsSkippedAndCounted) {
  if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
  const std::int64_t moment = mark();
  make("closed");
  put("closed/f");
  put("f");
  ::chmod(at("closed").c_str(), 0);
  const Answer answer = run_as_user(since(moment));
  EXPECT_THAT(answer.paths(), ElementsAre("f"));
  EXPECT_EQ(answer.last().skipped, 1U);
}

TEST_F(ChangesTest, PathThatLeadsOut_IsRefused) {
  link("/", "out");
  auto request = since(0);
  request.path = "out";
  EXPECT_THAT(run(request).paths(), IsEmpty());
  EXPECT_FALSE(run(request).status);
}

TEST_F(ChangesTest, WhatToolsMakeForThemselves_IsIgnoredWhenAsked) {
  const std::int64_t moment = mark();
  for (const char* directory : {"__pycache__", "node_modules/left-pad", ".git/objects", "env/lib/site-packages", "src"})
    make(directory);
  for (const char* name : {"__pycache__/a.pyc", "node_modules/left-pad/index.js", ".git/objects/x", "env/pyvenv.cfg",
                           "env/lib/site-packages/six.py", ".hidden", "a.pyc", "src/main.py", "result.csv"})
    put(name);
  auto request = since(moment);
  EXPECT_EQ(run(request).paths().size(), 9U);
  request.ignore_usual = true;
  const Answer answer = run(request);
  EXPECT_THAT(answer.paths(), ElementsAre("result.csv", "src/main.py"));
  EXPECT_EQ(answer.last().ignored, 6U) << "a directory counts once";
  EXPECT_FALSE(answer.last().cut);
}

TEST_F(ChangesTest, IgnoredDirectory_IsNotLookedInto) {
  const std::int64_t moment = mark();
  make("node_modules");
  for (int i = 0; i < 50; ++i) put("node_modules/f" + std::to_string(i));
  put("z");
  auto request = since(moment);
  request.ignore_usual = true;
  request.max_entries = 5;
  const Answer answer = run(request);
  EXPECT_THAT(answer.paths(), ElementsAre("z"));
  EXPECT_FALSE(answer.last().cut);
}

TEST_F(ChangesTest, FilesAtTheTop_ComeBeforeTheCapEndsTheSearch) {
  const std::int64_t moment = mark();
  make("a");
  for (int i = 0; i < 50; ++i) put("a/f" + std::to_string(i));
  put("z");
  auto request = since(moment);
  request.max_entries = 10;
  const Answer answer = run(request);
  EXPECT_EQ(answer.paths().front(), "z");
  EXPECT_TRUE(answer.last().cut);
}

TEST_F(ChangesTest, IncludeAndExclude_PickFiles) {
  const std::int64_t moment = mark();
  make("out/tmp");
  for (const char* name : {"a.txt", "out/b.csv", "out/c.log", "out/tmp/d.csv"}) put(name);
  auto request = since(moment);
  request.include = {"*.csv"};
  EXPECT_THAT(run(request).paths(), ElementsAre("out/b.csv", "out/tmp/d.csv"));
  request.exclude = {"tmp"};
  EXPECT_THAT(run(request).paths(), ElementsAre("out/b.csv"));
  EXPECT_EQ(run(request).last().ignored, 1U);
  request.include = {"out/**"};
  EXPECT_THAT(run(request).paths(), ElementsAre("out/b.csv", "out/c.log"));
  request.include = {"/out"};
  EXPECT_THAT(run(request).status, FailsSaying(ErrorCode::invalid_argument, "include"));
}

// A directory that names itself an environment is ignored whatever else it holds, by its mark alone.
TEST_F(ChangesTest, MarkOfAnEnvironment_MustBeAFile) {
  const std::int64_t moment = mark();
  make("a/pyvenv.cfg");
  put("a/f");
  make("b");
  link("/etc/hostname", "b/pyvenv.cfg");
  put("b/f");
  auto request = since(moment);
  request.ignore_usual = true;
  EXPECT_THAT(run(request).paths(), ElementsAre("a/f", "b/f"));
}

}  // namespace
}  // namespace cloche::agent::testing
