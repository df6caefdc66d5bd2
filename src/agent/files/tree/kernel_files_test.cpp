// Paths outside a root, where files of the kernel are refused.
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/testing/file_tester.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using wire::FileOp;

class KernelFilesTest : public BothWays {
 protected:
  static wire::FileRequest request(FileOp op, std::string path) {
    wire::FileRequest request;
    request.op = op;
    request.path = std::move(path);
    request.no_kernel_files = true;
    return request;
  }
};

TEST_P(KernelFilesTest, PlainFiles_AreReadAndWritten) {
  ASSERT_THAT(run(request(FileOp::write, at("f")), "text").status, Succeeds());
  EXPECT_EQ(run(request(FileOp::read, at("f"))).out, "text");
  EXPECT_THAT(run(request(FileOp::remove, at("f"))).status, Succeeds());
}

TEST_P(KernelFilesTest, ProcAndSys_AreRefused_DirectlyAndThroughLinks) {
  link("/proc", "proc");
  link("/proc/self/status", "status");
  link("/sys/kernel", "sys");
  link("/proc/self/cwd", "cwd");
  for (const std::string& path :
       {std::string("/proc/self/status"), std::string("/proc/self/mem"), std::string("/proc/1/environ"),
        std::string("/sys/kernel/profiling"), at("proc/self/status"), at("status"), at("sys"), at("cwd/f")}) {
    for (const FileOp op : {FileOp::read, FileOp::stat, FileOp::list, FileOp::glob, FileOp::grep, FileOp::tar_out,
                            FileOp::write, FileOp::edit}) {
      auto wanted = request(op, path);
      wanted.pattern = "x";
      EXPECT_FALSE(run(wanted, "x").status) << path << " by " << static_cast<int>(op);
    }
  }
  link("/proc/version", "version");
  for (const std::string& path : {std::string("/proc/version"), at("version"), at("proc/version")}) {
    EXPECT_THAT(run(request(FileOp::read, path)).status,
                FailsSaying(ErrorCode::permission_denied, "kernel file system"))
        << path;
  }
}

TEST_P(KernelFilesTest, Walks_GoAroundThem) {
  auto all = request(FileOp::glob, "/");
  all.pattern = "{proc,sys}/*";
  const Answer answer = run(all);
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_THAT(answer.paths(), Not(Contains("proc/version")));
  EXPECT_GE(answer.last().skipped, 1U);
}

TEST_P(KernelFilesTest, Move_MayHaveTwoRoots) {
  make("inside");
  put("outside", "text");
  auto move = request(FileOp::move, at("outside"));
  move.to = "f";
  move.to_root = at("inside");
  ASSERT_THAT(run(move).status, Succeeds());
  EXPECT_EQ(get("inside/f"), "text");
  move = request(FileOp::move, "f");
  move.root = at("inside");
  move.to = at("back");
  EXPECT_THAT(run(move).status, FailsWith(ErrorCode::invalid_argument));
  move.to_root = "";
  ASSERT_THAT(run(move).status, Succeeds());
  EXPECT_EQ(get("back"), "text");
  move = request(FileOp::move, at("back"));
  move.to_root = at("inside");
  move.to = "../out";
  EXPECT_THAT(run(move).status, FailsWith(ErrorCode::invalid_argument));
  link("/proc/self", "inside/p");
  move.to = "p/x";
  EXPECT_THAT(run(move).status, FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(names(), ElementsAre("back", "inside"));
}

CLOCHE_BOTH_WAYS(KernelFilesTest);

}  // namespace
}  // namespace cloche::agent::testing
