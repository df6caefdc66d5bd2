// Reading and stat.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include "agent/files/testing/file_tester.hpp"
#include "core/unique_fd.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using wire::FileOp;
using wire::FileType;
using ReadTest = BothWays;

TEST_P(ReadTest, WholeFile_ComesWithItsSizeFirst) {
  put("f", "content");
  const Answer answer = run(beneath(FileOp::read, "f"));
  ASSERT_THAT(answer.status, Succeeds());
  ASSERT_EQ(answer.replies.size(), 2U);
  EXPECT_FALSE(answer.replies[0].done);
  EXPECT_EQ(answer.replies[0].total_size, 7U);
  EXPECT_EQ(answer.replies[1].bytes, 7U);
  EXPECT_EQ(answer.out, "content");
}

TEST_P(ReadTest, Range_IsCutToTheFile) {
  put("f", "0123456789");
  auto request = beneath(FileOp::read, "f");
  request.offset = 3;
  request.length = 4;
  EXPECT_EQ(run(request).out, "3456");
  request.length = 100;
  EXPECT_EQ(run(request).out, "3456789");
  request.length = 0;
  EXPECT_EQ(run(request).out, "3456789");
  request.offset = 10;
  EXPECT_EQ(run(request).out, "");
  request.offset = 1'000'000'000'000;
  EXPECT_EQ(run(request).last().bytes, 0U);
  request.offset = ~0ULL;
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::invalid_argument));
  request.offset = 5;
  request.length = ~0ULL;
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::invalid_argument));
}

TEST_P(ReadTest, WhatIsNoRegularFile_IsRefusedAtOnce) {
  make("d");
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0666), 0);
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(run(beneath(FileOp::read, "d")).status, FailsSaying(ErrorCode::invalid_argument, "is a directory"));
  EXPECT_THAT(run(beneath(FileOp::read, "fifo")).status, FailsSaying(ErrorCode::invalid_argument, "is a FIFO"));
  EXPECT_FALSE(run(beneath(FileOp::read, "socket")).status);
  EXPECT_THAT(run({.op = FileOp::read, .path = "/dev/zero"}).status,
              FailsSaying(ErrorCode::invalid_argument, "is a device"));
  EXPECT_THAT(run(beneath(FileOp::read, "missing")).status, FailsWith(ErrorCode::not_found));
}

TEST_P(ReadTest, SparseFile_IsReadWhereAsked) {
  put("f");
  ASSERT_EQ(::truncate(at("f").c_str(), 1LL << 40), 0);
  auto request = beneath(FileOp::read, "f");
  request.offset = (1ULL << 40) - 10;
  const Answer answer = run(request);
  EXPECT_EQ(answer.out, std::string(10, '\0'));
  EXPECT_EQ(answer.last().total_size, 1ULL << 40);
}

TEST_P(ReadTest, FileThatShrinksMeanwhile_EndsCleanly) {
  put("f", std::string(1 << 20, 'x'));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::uint64_t taken = 0;
  std::jthread reader([&, in = UniqueFd(ends[0])] {
    char buffer[4096];
    // The pipe is full, so the worker stands still with most of the file to come.
    if (::read(in.get(), buffer, sizeof buffer) > 0) taken += sizeof buffer;
    EXPECT_EQ(::truncate(at("f").c_str(), 10), 0);
    for (ssize_t got = 0; (got = ::read(in.get(), buffer, sizeof buffer)) > 0;)
      taken += static_cast<std::uint64_t>(got);
  });
  std::uint64_t said = 0;
  const auto request = beneath(FileOp::read, "f");
  EXPECT_THAT(do_file_request(request, {.out = ends[1],
                                        .reply =
                                            [&](const wire::FileReply& reply) {
                                              said = reply.bytes;
                                              return Status();
                                            }}),
              Succeeds());
  ::close(ends[1]);
  reader.join();
  EXPECT_EQ(said, taken);
  EXPECT_LT(said, 1U << 20);
}

TEST_P(ReadTest, Stat_TellsOfFileLinkAndDirectory) {
  make("d");
  put("f", "content");
  link("f", "l");
  link("nowhere", "dangling");
  const timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1'700'000'000, .tv_nsec = 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("f").c_str(), times, 0), 0);
  auto request = beneath(FileOp::stat, "l");
  auto entry = run(request).entries().at(0);
  EXPECT_EQ(entry.path, "l");
  EXPECT_EQ(entry.type, FileType::regular);
  EXPECT_EQ(entry.size, 7U);
  EXPECT_EQ(entry.mtime_ns, 1'700'000'000'000'000'005);
  request.follow = false;
  entry = run(request).entries().at(0);
  EXPECT_EQ(entry.type, FileType::symlink);
  EXPECT_EQ(entry.link_target, "f");
  request.path = "d/";
  EXPECT_EQ(run(request).entries().at(0).type, FileType::directory);
  request.path = ".";
  EXPECT_EQ(run(request).entries().at(0).type, FileType::directory);
  request.path = "dangling";
  EXPECT_THAT(run(request).status, Succeeds());
  request.follow = true;
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::not_found));
}

TEST_P(ReadTest, Stat_OfAbsurdTime_IsTold) {
  make("disk");
  const SmallDisk disk(at("disk"), "size=64k");
  if (!disk.ok()) CLOCHE_CANNOT_TEST("mounts", "a file system cannot be mounted here");
  put("disk/f");
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = 0}, {.tv_sec = 0x7fff'ffff'ffff, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("disk/f").c_str(), times, 0), 0);
  EXPECT_GT(run(beneath(FileOp::stat, "disk/f")).entries().at(0).mtime_ns, 1'000'000'000'000'000'000);
}

CLOCHE_BOTH_WAYS(ReadTest);

}  // namespace
}  // namespace cloche::agent::testing
