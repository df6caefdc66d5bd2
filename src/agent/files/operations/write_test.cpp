// Writing: whole or not at all, and nothing left behind.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/files/cancel.hpp"
#include "agent/files/operations/abilities.hpp"
#include "agent/files/testing/file_tester.hpp"
#include "core/unique_fd.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::FileOp;
using WriteTest = BothWays;

TEST_P(WriteTest, NewFile_HasContentAndDefaultMode) {
  const mode_t mask = ::umask(077);
  const Answer answer = run(beneath(FileOp::write, "f"), "content");
  ::umask(mask);
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_EQ(answer.last().bytes, 7U);
  EXPECT_EQ(get("f"), "content");
  EXPECT_EQ(mode("f"), 0644U);
  EXPECT_THAT(names(), ElementsAre("f"));
}

TEST_P(WriteTest, EmptyContent_MakesEmptyFile) {
  EXPECT_THAT(run(beneath(FileOp::write, "f")).status, Succeeds());
  EXPECT_TRUE(exists("f"));
}

TEST_P(WriteTest, AnyBytes_ArriveUnchanged) {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7919);
  EXPECT_THAT(run(beneath(FileOp::write, "f\xff\x01 name"), bytes).status, Succeeds());
  EXPECT_EQ(get("f\xff\x01 name"), bytes);
}

TEST_P(WriteTest, Mode_IsApplied_AndMoreThanPermissionsIsRefused) {
  auto request = beneath(FileOp::write, "f");
  request.mode = 0755;
  EXPECT_THAT(run(request, "#!").status, Succeeds());
  EXPECT_EQ(mode("f"), 0755U);
  request.mode = 04755;
  EXPECT_THAT(run(request, "#!").status, FailsWith(ErrorCode::invalid_argument));
}

TEST_P(WriteTest, ExistingFile_IsReplacedAtOnce_AndKeepsItsMode) {
  put("f", "old");
  ::chmod(at("f").c_str(), 0700);
  const UniqueFd reader(::open(at("f").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(run(beneath(FileOp::write, "f"), "new content").status, Succeeds());
  char seen[16] = {};
  EXPECT_EQ(::read(reader.get(), seen, sizeof seen), 3);
  EXPECT_STREQ(seen, "old");
  EXPECT_EQ(get("f"), "new content");
  EXPECT_EQ(mode("f"), 0700U);
  EXPECT_THAT(names(), ElementsAre("f"));
}

TEST_P(WriteTest, Parents_AreMadeOnlyWhenAsked) {
  auto request = beneath(FileOp::write, "a/b/c/f");
  EXPECT_THAT(run(request, "x").status, FailsWith(ErrorCode::not_found));
  EXPECT_THAT(names(), IsEmpty());
  request.parents = true;
  EXPECT_THAT(run(request, "x").status, Succeeds());
  EXPECT_EQ(get("a/b/c/f"), "x");
  EXPECT_EQ(mode("a/b"), 0755U);
  EXPECT_THAT(run(request, "y").status, Succeeds());
  EXPECT_EQ(get("a/b/c/f"), "y");
}

TEST_P(WriteTest, ParentThatIsNoDirectory_IsRefused) {
  put("file");
  link("nowhere", "dangling");
  auto request = beneath(FileOp::write, "file/f");
  request.parents = true;
  EXPECT_THAT(run(request, "x").status, FailsWith(ErrorCode::already_exists));
  request.path = "dangling/a/f";
  EXPECT_THAT(run(request, "x").status, FailsWith(ErrorCode::already_exists));
  EXPECT_THAT(names(), ElementsAre("dangling", "file"));
}

TEST_P(WriteTest, Append_AddsToTheEnd) {
  auto request = beneath(FileOp::write, "f");
  request.append = true;
  EXPECT_THAT(run(request, "one ").status, Succeeds());
  EXPECT_EQ(run(request, "two").last().bytes, 3U);
  EXPECT_EQ(get("f"), "one two");
  EXPECT_EQ(mode("f"), 0644U);
}

TEST_P(WriteTest, MoreThanTheCap_LeavesNothing) {
  put("old", "old");
  auto request = beneath(FileOp::write, "a/b/f");
  request.parents = true;
  request.max_bytes = 1000;
  EXPECT_THAT(run(request, std::string(1001, 'x')).status, FailsWith(ErrorCode::limit_reached));
  EXPECT_THAT(names(), ElementsAre("old"));
  request.path = "old";
  EXPECT_THAT(run(request, std::string(1'000'000, 'x')).status, FailsWith(ErrorCode::limit_reached));
  EXPECT_EQ(get("old"), "old");
  EXPECT_THAT(run(request, std::string(1000, 'x')).status, Succeeds());
}

TEST_P(WriteTest, FileThatGrows_IsWholeAtItsEndOrGone) {
  auto request = beneath(FileOp::write, "a/f");
  request.parents = true;
  request.in_place = true;
  request.mode = 0640;
  request.max_bytes = 1000;
  EXPECT_THAT(run(request, std::string(1001, 'x')).status, FailsWith(ErrorCode::limit_reached));
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_THAT(run(request, "content").status, Succeeds());
  EXPECT_EQ(get("a/f"), "content");
  EXPECT_EQ(mode("a/f"), 0640U);
  // One that exists is replaced whole.
  EXPECT_THAT(run(request, std::string(1001, 'x')).status, FailsWith(ErrorCode::limit_reached));
  EXPECT_EQ(get("a/f"), "content");
}

TEST_P(WriteTest, WhatIsNoRegularFile_IsRefused) {
  make("d");
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0666), 0);
  link("fifo", "to-fifo");
  EXPECT_THAT(run(beneath(FileOp::write, "d"), "x").status, FailsSaying(ErrorCode::invalid_argument, "is a directory"));
  EXPECT_THAT(run(beneath(FileOp::write, "new/"), "x").status,
              FailsSaying(ErrorCode::invalid_argument, "is a directory"));
  EXPECT_THAT(run(beneath(FileOp::write, "."), "x").status, FailsSaying(ErrorCode::invalid_argument, "is a directory"));
  for (const bool append : {false, true}) {
    auto request = beneath(FileOp::write, "fifo");
    request.append = append;
    EXPECT_THAT(run(request, "x").status, FailsSaying(ErrorCode::invalid_argument, "is a FIFO"));
    request.path = "to-fifo";
    EXPECT_THAT(run(request, "x").status, FailsSaying(ErrorCode::invalid_argument, "is a FIFO"));
  }
  EXPECT_THAT(run({.op = FileOp::write, .path = "/dev/null"}, "x").status,
              FailsSaying(ErrorCode::invalid_argument, "is a device"));
}

TEST_P(WriteTest, ThroughLink_TheTargetIsWritten) {
  make("d/e");
  put("d/e/f", "old");
  link("d/e", "to-e");
  link("to-e/f", "one");
  link("../d/e/../e/g", "d/dangling");
  EXPECT_THAT(run(beneath(FileOp::write, "one"), "new").status, Succeeds());
  EXPECT_EQ(get("d/e/f"), "new");
  EXPECT_THAT(run(beneath(FileOp::write, "d/dangling"), "made").status, Succeeds());
  EXPECT_EQ(get("d/e/g"), "made");
  EXPECT_EQ(run({.op = FileOp::stat, .path = "one", .root = directory_, .follow = false}).entries()[0].type,
            wire::FileType::symlink);
}

TEST_P(WriteTest, FullDisk_IsSaidAndLeavesNothing) {
  make("disk");
  const SmallDisk disk(at("disk"), "size=256k");
  if (!disk.ok()) CLOCHE_CANNOT_TEST("mounts", "a file system cannot be mounted here");
  put("disk/kept", "kept");
  auto request = beneath(FileOp::write, "disk/a/f");
  request.parents = true;
  EXPECT_THAT(run(request, std::string(1 << 20, 'x')).status,
              FailsSaying(ErrorCode::limit_reached, "no space left in disk/a"));
  EXPECT_THAT(names("disk"), ElementsAre("kept"));
  EXPECT_THAT(run(request, std::string(100'000, 'x')).status, Succeeds());
}

TEST_P(WriteTest, FileSizeLimit_IsAnErrorNotADeath) {
  EXPECT_TRUE(in_child([&] {
    const rlimit limit{.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    // The harness's own memory files count too, so the content comes from a pipe.
    int ends[2];
    if (::pipe(ends) != 0 || ::write(ends[1], std::string(5000, 'x').data(), 5000) != 5000) return false;
    ::close(ends[1]);
    const Status status =
        do_file_request(beneath(FileOp::write, "f"), {.in = ends[0], .reply = [](auto&) { return Status(); }});
    return !status && status.error().code == ErrorCode::limit_reached;
  }));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(WriteTest, TwoHundredMegabytes_StreamThrough) {
  const UniqueFd in(zeros(200'000'000));
  const Answer answer = run_from(beneath(FileOp::write, "big"), in.get());
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_EQ(answer.last().bytes, 200'000'000U);
  EXPECT_EQ(run(beneath(FileOp::stat, "big")).entries()[0].size, 200'000'000U);
}

// A worker that waits for content, half of it written.
class HalfWritten {
 public:
  explicit HalfWritten(const wire::FileRequest& request) {
    int content[2];
    int ready[2];
    if (::pipe(content) != 0 || ::pipe(ready) != 0) return;
    worker_ = ::fork();
    if (worker_ == 0) {
      ::close(content[1]);
      cancel_on_sigterm();
      if (::write(ready[1], "r", 1) != 1) ::_exit(9);
      const Status status = do_file_request(request, {.in = content[0], .reply = [](auto&) { return Status(); }});
      ::_exit(status ? 0 : status.error().code == ErrorCode::cancelled ? 3 : 4);
    }
    ::close(content[0]);
    ::close(ready[1]);
    content_.reset(content[1]);
    char byte = 0;
    (void)!::read(ready[0], &byte, 1);
    ::close(ready[0]);
    // More than the pipe holds: once it is all taken, the worker has begun to write.
    const std::string some(1 << 20, 'x');
    (void)!::write(content_.get(), some.data(), some.size());
  }
  int end_with(int signal) {
    ::kill(worker_, signal);
    // After a cancellation, the end of the content is not the end of a whole file.
    content_.reset();
    int status = 0;
    ::waitpid(worker_, &status, 0);
    return status;
  }

 private:
  pid_t worker_ = -1;
  UniqueFd content_;
};

TEST_P(WriteTest, CancelledBySigterm_LeavesNothing) {
  auto request = beneath(FileOp::write, "a/f");
  request.parents = true;
  const int status = HalfWritten(request).end_with(SIGTERM);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(WriteTest, FileThatGrows_CancelledBySigterm_LeavesNothing) {
  auto request = beneath(FileOp::write, "f");
  request.in_place = true;
  const int status = HalfWritten(request).end_with(SIGTERM);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(WriteTest, KilledBySigkill_LeavesTheOldFile) {
  put("f", "old");
  HalfWritten(beneath(FileOp::write, "f")).end_with(SIGKILL);
  EXPECT_EQ(get("f"), "old");
  // Without O_TMPFILE a hidden file stays; with it nothing stays.
  const UniqueFd nameless(::open(directory_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (GetParam() == Way::linux_calls && nameless) {
    EXPECT_THAT(names(), ElementsAre("f"));
  }
}

TEST_P(WriteTest, WithoutProc_WritesAllTheSame) {
  const auto hide_proc = [] {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
  };
  if (!in_child(hide_proc)) CLOCHE_CANNOT_TEST("mounts", "needs the right to mount in a namespace of its own");
  put("old", "old");
  EXPECT_TRUE(in_child([&] {
    return hide_proc() && run(beneath(FileOp::write, "f"), "x").status.has_value() &&
           run(beneath(FileOp::write, "old"), "x").status.has_value();
  }));
  EXPECT_EQ(get("f"), "x");
  EXPECT_EQ(get("old"), "x");
  EXPECT_THAT(names(), ElementsAre("f", "old"));
}

CLOCHE_BOTH_WAYS(WriteTest);

}  // namespace
}  // namespace cloche::agent::testing
