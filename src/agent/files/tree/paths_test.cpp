// Which paths are taken, and where symbolic links may lead.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "agent/files/testing/file_tester.hpp"
#include "wire/file_marks.hpp"

namespace cloche::agent::testing {
namespace {

using wire::FileOp;
using PathsTest = BothWays;

TEST_P(PathsTest, MalformedPath_IsRefused) {
  const std::string nul("a\0b", 3);
  for (const std::string& path : {std::string(), nul, std::string("../a"), std::string("a/../b"), std::string("a/.."),
                                  std::string("/etc/passwd")}) {
    EXPECT_THAT(run(beneath(FileOp::read, path)).status, FailsWith(ErrorCode::invalid_argument)) << path;
  }
  for (const std::string& path :
       {std::string(), "/" + nul, std::string("/tmp/../etc"), std::string("etc/passwd"), std::string("./x")}) {
    EXPECT_THAT(run({.op = FileOp::read, .path = path}).status, FailsWith(ErrorCode::invalid_argument)) << path;
  }
  EXPECT_THAT(run({.op = FileOp::read, .path = "a", .root = "relative"}).status,
              FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(run({.op = FileOp::read, .path = "a", .root = "/no/such/root"}).status, FailsWith(ErrorCode::not_found));
}

TEST_P(PathsTest, ErrorNamesOperationAndPathWithoutControlBytes) {
  EXPECT_THAT(run(beneath(FileOp::read, "a\nb\xff")).status,
              FailsSaying(ErrorCode::not_found, "read a\\x0ab\\xff: No such file"));
}

TEST_P(PathsTest, OddButPlainPath_IsTaken) {
  make("d");
  put("d/f", "content");
  EXPECT_EQ(run(beneath(FileOp::read, "./d//./f")).out, "content");
  EXPECT_EQ(run({.op = FileOp::read, .path = "/" + at("d") + "//f"}).out, "content");
  EXPECT_THAT(run(beneath(FileOp::list, ".")).status, Succeeds());
  EXPECT_THAT(run({.op = FileOp::stat, .path = "/"}).status, Succeeds());
}

TEST_P(PathsTest, SlashAfterFile_IsNotFound) {
  put("f", "content");
  link("f", "l");
  EXPECT_THAT(run(beneath(FileOp::read, "f/")).status, FailsWith(ErrorCode::not_found));
  EXPECT_THAT(run(beneath(FileOp::stat, "l/")).status, FailsWith(ErrorCode::not_found));
  EXPECT_THAT(run(beneath(FileOp::stat, "f/x")).status, FailsWith(ErrorCode::not_found));
}

TEST_P(PathsTest, LinkThatStaysBeneath_IsFollowed) {
  make("a/b");
  make("c");
  put("c/f", "content");
  link("../../c", "a/b/up");
  link("a/b/up/f", "file");
  link("a/b/up/", "slash");
  link(".", "self");
  EXPECT_EQ(run(beneath(FileOp::read, "a/b/up/f")).out, "content");
  EXPECT_EQ(run(beneath(FileOp::read, "file")).out, "content");
  EXPECT_EQ(run(beneath(FileOp::read, "slash/f")).out, "content");
  EXPECT_EQ(run(beneath(FileOp::read, "self/self/self/file")).out, "content");
}

TEST_P(PathsTest, LinkThatLeadsOut_IsRefused) {
  make("root/d");
  put("secret", "secret");
  link("../secret", "root/up");
  link("../../secret", "root/d/up");
  link("..", "root/parent");
  link("d/../..", "root/sly");
  link(at("root/d"), "root/absolute");
  link("/", "root/top");
  const auto rooted = [&](FileOp op, const char* path) {
    return run({.op = op, .path = path, .root = at("root"), .parents = true}, "written").status;
  };
  for (const char* path : {"up", "d/up", "parent/secret", "sly/secret", "absolute/x", "top/etc/passwd"}) {
    for (const FileOp op : {FileOp::read, FileOp::write, FileOp::stat, FileOp::list, FileOp::tar_out, FileOp::tar_in}) {
      EXPECT_THAT(rooted(op, path), FailsSaying(ErrorCode::permission_denied, std::string(wire::link_leads_out)))
          << path << static_cast<int>(op);
    }
  }
  for (const char* path : {"parent/secret", "sly/secret"}) {
    EXPECT_THAT(rooted(FileOp::remove, path), FailsWith(ErrorCode::permission_denied)) << path;
    EXPECT_THAT(rooted(FileOp::mkdir, path), FailsWith(ErrorCode::permission_denied)) << path;
  }
  EXPECT_EQ(get("secret"), "secret");
}

TEST_P(PathsTest, WithoutRoot_LinksLeadAnywhere) {
  make("d");
  put("f", "content");
  link(at("f"), "d/absolute");
  link("../f", "d/relative");
  EXPECT_EQ(run({.op = FileOp::read, .path = at("d/absolute")}).out, "content");
  EXPECT_EQ(run({.op = FileOp::read, .path = at("d/relative")}).out, "content");
  EXPECT_THAT(run({.op = FileOp::write, .path = at("d/absolute")}, "new").status, Succeeds());
  EXPECT_EQ(get("f"), "new");
}

TEST_P(PathsTest, ChainOfLinks_IsFollowedUpToForty) {
  put("0", "content");
  for (int i = 1; i <= 41; ++i) link(std::to_string(i - 1), std::to_string(i));
  EXPECT_EQ(run(beneath(FileOp::read, "40")).out, "content");
  EXPECT_THAT(run(beneath(FileOp::read, "41")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(run(beneath(FileOp::write, "41"), "x").status, FailsWith(ErrorCode::invalid_argument));
  link("loop", "loop");
  EXPECT_THAT(run(beneath(FileOp::read, "loop")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(run(beneath(FileOp::write, "loop"), "x").status, FailsWith(ErrorCode::invalid_argument));
}

TEST_P(PathsTest, LinksOfProcThatAreNoText_AreRefused) {
  put("f", "content");
  const int fd = ::open(at("f").c_str(), O_RDONLY | O_CLOEXEC);
  for (const std::string& path :
       {"/proc/self/fd/" + std::to_string(fd), "/proc/self/root" + at("f"), std::string("/proc/self/cwd/x")}) {
    EXPECT_THAT(run({.op = FileOp::read, .path = path}).status, FailsWith(ErrorCode::invalid_argument)) << path;
    EXPECT_THAT(run({.op = FileOp::write, .path = path}, "x").status, FailsWith(ErrorCode::invalid_argument)) << path;
  }
  ::close(fd);
  EXPECT_EQ(get("f"), "content");
}

TEST_P(PathsTest, PathLongerThanPathMax_IsReached) {
  make_deep(3000, "dd", true);
  std::string path;
  for (int i = 0; i < 3000; ++i) path += "dd/";
  EXPECT_EQ(run(beneath(FileOp::read, path + "f")).out, "deep\n");
  EXPECT_THAT(run(beneath(FileOp::write, path + "g"), "new").status, Succeeds());
  EXPECT_EQ(run(beneath(FileOp::read, path + "g")).out, "new");
}

// Another process swaps a directory for a link that leads out, as fast as it can.
TEST_P(PathsTest, DirectorySwappedForLinkMeanwhile_NeverLeadsOut) {
  make("root/d");
  make("outside");
  put("root/d/f", "inside");
  put("outside/f", "outside");
  link("../outside", "root/l");
  const pid_t swapper = ::fork();
  if (swapper == 0) {
    for (;;) ::renameat2(AT_FDCWD, at("root/d").c_str(), AT_FDCWD, at("root/l").c_str(), RENAME_EXCHANGE);
  }
  int good = 0;
  for (int i = 0; i < 1500; ++i) {
    const Answer read = run({.op = FileOp::read, .path = "d/f", .root = at("root")});
    EXPECT_NE(read.out, "outside");
    good += read.out == "inside" ? 1 : 0;
    run({.op = FileOp::write, .path = "d/f", .root = at("root")}, "inside");
    run({.op = FileOp::write, .path = "d/g", .root = at("root")}, "inside");
    run({.op = FileOp::remove, .path = "d/g", .root = at("root")});
  }
  ::kill(swapper, SIGKILL);
  ::waitpid(swapper, nullptr, 0);
  EXPECT_GT(good, 0);
  EXPECT_EQ(get("outside/f"), "outside");
  EXPECT_THAT(names("outside"), ::testing::ElementsAre("f"));
}

CLOCHE_BOTH_WAYS(PathsTest);

}  // namespace
}  // namespace cloche::agent::testing
