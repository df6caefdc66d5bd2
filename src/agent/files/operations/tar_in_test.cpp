// Unpacking: what hostile archives try, and all or nothing.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/files/cancel.hpp"
#include "agent/files/testing/file_tester.hpp"
#include "archive/testing/tar_bytes.hpp"
#include "core/unique_fd.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using namespace testing_support;  // tar_file and the like

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::FileOp;

class TarInTest : public BothWays {
 protected:
  TarInTest() {
    make("to");
    make("outside");
    put("outside/f", "kept");
  }
  wire::FileRequest request() const { return beneath(FileOp::tar_in, "to"); }
  Answer unpack(const std::string& entries) const { return run(request(), entries + tar_end()); }
  // Nothing in the destination, nothing changed outside.
  void expect_nothing_done() const {
    EXPECT_THAT(names("to"), IsEmpty());
    EXPECT_THAT(names("outside"), ElementsAre("f"));
    EXPECT_EQ(get("outside/f"), "kept");
  }
};

TEST_P(TarInTest, FilesDirectoriesAndLinks_AreUnpacked) {
  const Answer answer = unpack(tar_directory("./") + tar_directory("d/", 0750) + tar_file("d/f", "content", 04755) +
                               tar_symlink("d/l", "../d/f") + tar_hardlink("h", "d/f") +
                               tar_file("implied/dirs/g", "g") + tar_symlink("out", "/etc"));
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_EQ(answer.last().files, 7U);
  EXPECT_EQ(answer.last().bytes, 8U);
  EXPECT_EQ(get("to/d/f"), "content");
  EXPECT_EQ(get("to/d/l"), "content");
  EXPECT_EQ(get("to/h"), "content");
  EXPECT_EQ(get("to/implied/dirs/g"), "g");
  EXPECT_EQ(mode("to/d/f"), 0755U);
  EXPECT_EQ(mode("to/d"), 0750U);
  EXPECT_EQ(mode("to/implied"), 0755U);
  EXPECT_THAT(names("to"), ElementsAre("d", "h", "implied", "out"));
  EXPECT_EQ(run(beneath(FileOp::stat, "to/d/f")).entries()[0].mtime_ns, 1'000'000'000'000'000'000);
  EXPECT_EQ(run(beneath(FileOp::stat, "to/d")).entries()[0].mtime_ns, 1'000'000'000'000'000'000);
}

TEST_P(TarInTest, ThroughLinkThatLeadsOut_NothingIsWritten) {
  for (const char* target : {"../outside", "../../outside", "/tmp"}) {
    EXPECT_THAT(unpack(tar_file("before", "x") + tar_symlink("l", target) + tar_file("l/f", "evil")).status,
                FailsSaying(ErrorCode::invalid_argument, "archive entry `l/f`"));
    expect_nothing_done();
    EXPECT_FALSE(unpack(tar_symlink("l", target) + tar_directory("l/d")).status);
    expect_nothing_done();
    EXPECT_FALSE(unpack(tar_symlink("l", target) + tar_hardlink("h", "l/f")).status);
    expect_nothing_done();
  }
  // In two steps, and through a link to a link.
  EXPECT_FALSE(unpack(tar_symlink("a", "..") + tar_symlink("b", "a/outside") + tar_file("b/f", "evil")).status);
  EXPECT_FALSE(unpack(tar_directory("d") + tar_symlink("d/up", "..") + tar_file("d/up/../outside/f", "evil")).status);
  expect_nothing_done();
}

TEST_P(TarInTest, FileOverLink_ReplacesTheLink) {
  ASSERT_THAT(unpack(tar_symlink("l", "../outside/f") + tar_file("l", "mine")).status, Succeeds());
  EXPECT_EQ(get("to/l"), "mine");
  EXPECT_EQ(get("outside/f"), "kept");
}

TEST_P(TarInTest, DirectoryOverLink_IsRefused) {
  EXPECT_THAT(unpack(tar_symlink("l", "../outside") + tar_directory("l") + tar_file("l/f", "evil")).status,
              FailsWith(ErrorCode::invalid_argument));
  expect_nothing_done();
}

TEST_P(TarInTest, LinkThatExistsInTheDestination_IsNotWrittenThrough) {
  link("../outside", "to/l");
  EXPECT_THAT(unpack(tar_file("l/f", "evil")).status,
              FailsSaying(ErrorCode::already_exists, "l: is a directory in the archive"));
  EXPECT_EQ(get("outside/f"), "kept");
  ASSERT_THAT(unpack(tar_file("l", "mine")).status, Succeeds());
  EXPECT_EQ(get("to/l"), "mine");
  EXPECT_THAT(names("outside"), ElementsAre("f"));
}

TEST_P(TarInTest, ThroughLinkInside_IsWritten) {
  ASSERT_THAT(
      unpack(tar_directory("lib") + tar_symlink("lib64", "lib") + tar_file("lib64/f", "x") + tar_directory("lib64/d"))
          .status,
      Succeeds());
  EXPECT_EQ(get("to/lib/f"), "x");
  EXPECT_TRUE(exists("to/lib/d"));
}

TEST_P(TarInTest, HardLinks_StayBeneathTheDestination) {
  put("to/there", "there");
  ASSERT_THAT(unpack(tar_hardlink("h", "there")).status, Succeeds());
  EXPECT_EQ(get("to/h"), "there");
  for (const char* target : {"../outside/f", "/etc/passwd", "missing"}) {
    EXPECT_THAT(unpack(tar_hardlink("x", target)).status, FailsWith(ErrorCode::invalid_argument)) << target;
  }
  make("to/d");
  EXPECT_THAT(unpack(tar_hardlink("x", "d")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(names("to"), ElementsAre("d", "h", "there"));
}

TEST_P(TarInTest, DamagedOrForbiddenArchive_LeavesNothing) {
  const std::string good = tar_directory("d") + tar_file("d/f", "content");
  for (const std::string& bytes :
       {std::string(), good, good + tar_file("g", "content").substr(0, 700) /* cut */,
        good + std::string(512, 'x') + tar_end(), good + TarBlock{.name = "fifo", .type = '6'}.bytes() + tar_end(),
        good + tar_file("../x", "x") + tar_end(), good + tar_file("/x", "x") + tar_end(),
        good + tar_file("d", "now a file") + tar_end(), good + tar_file("d/f/g", "x") + tar_end()}) {
    EXPECT_FALSE(run(request(), bytes).status);
    expect_nothing_done();
  }
}

TEST_P(TarInTest, Caps_HoldWhileStreaming) {
  auto capped = request();
  capped.max_bytes = 1000;
  EXPECT_THAT(
      run(capped, tar_file("a", std::string(600, 'x')) + tar_file("b", std::string(401, 'x')) + tar_end()).status,
      FailsWith(ErrorCode::limit_reached));
  // A size announced is enough: the content need not come.
  EXPECT_THAT(run(capped, TarBlock{.name = "f", .size = 1'000'000'000}.bytes()).status,
              FailsWith(ErrorCode::limit_reached));
  expect_nothing_done();
  EXPECT_THAT(
      run(capped, tar_file("a", std::string(600, 'x')) + tar_file("b", std::string(400, 'x')) + tar_end()).status,
      Succeeds());
  capped.max_entries = 2;
  EXPECT_THAT(run(capped, tar_file("c", "") + tar_file("d", "") + tar_file("e", "") + tar_end()).status,
              FailsSaying(ErrorCode::limit_reached, "2 entries"));
  // One long name can imply many directories.
  EXPECT_THAT(run(capped, tar_file("x/y/z/f", "") + tar_end()).status, FailsWith(ErrorCode::limit_reached));
  EXPECT_THAT(names("to"), ElementsAre("a", "b"));
}

TEST_P(TarInTest, ExistingTree_IsMerged) {
  make("to/d/e");
  put("to/d/old", "old");
  put("to/d/e/f", "old");
  ::chmod(at("to/d").c_str(), 0700);
  ASSERT_THAT(
      unpack(tar_directory("d", 0755) + tar_file("d/new", "new") + tar_file("d/e/f", "new") + tar_directory("x"))
          .status,
      Succeeds());
  EXPECT_EQ(get("to/d/old"), "old");
  EXPECT_EQ(get("to/d/new"), "new");
  EXPECT_EQ(get("to/d/e/f"), "new");
  EXPECT_EQ(mode("to/d"), 0700U);
  EXPECT_THAT(names("to"), ElementsAre("d", "x"));
}

TEST_P(TarInTest, Conflict_ChangesNothing) {
  make("to/b");
  put("to/a", "old");
  put("to/z", "old");
  EXPECT_THAT(unpack(tar_file("a", "new") + tar_file("b", "new") + tar_file("c", "new")).status,
              FailsWith(ErrorCode::already_exists));
  EXPECT_THAT(unpack(tar_file("a", "new") + tar_file("z/f", "new")).status, FailsWith(ErrorCode::already_exists));
  EXPECT_EQ(get("to/a"), "old");
  EXPECT_THAT(names("to"), ElementsAre("a", "b", "z"));
}

TEST_P(TarInTest, Destination_IsMadeOnlyWhenAsked_AndUnmadeOnFailure) {
  auto missing = beneath(FileOp::tar_in, "x/y");
  EXPECT_THAT(run(missing, tar_file("f", "x") + tar_end()).status, FailsWith(ErrorCode::not_found));
  missing.parents = true;
  EXPECT_FALSE(run(missing, tar_file("f", "x")).status);
  EXPECT_THAT(names(), ElementsAre("outside", "to"));
  EXPECT_THAT(run(missing, tar_file("f", "x") + tar_end()).status, Succeeds());
  EXPECT_EQ(get("x/y/f"), "x");
  missing.path = "x/y/f";
  EXPECT_FALSE(run(missing, tar_end()).status);
}

TEST_P(TarInTest, VeryDeepTree_IsUnpacked) {
  std::string archive;
  std::string path;
  for (int i = 0; i < 3000; ++i) {
    path += "dd/";
    archive += tar_extension('x', pax_record("path", path)) + tar_directory("d");
  }
  archive += tar_extension('x', pax_record("path", path + "f")) + tar_file("f", "deep");
  archive += tar_file("back-at-the-top", "x");
  ASSERT_THAT(unpack(archive).status, Succeeds());
  EXPECT_EQ(run(beneath(FileOp::read, "to/" + path + "f")).out, "deep");
  EXPECT_EQ(get("to/back-at-the-top"), "x");
}

TEST_P(TarInTest, FileOfModeZero_KeepsTheModeOfTheFileItReplaces_WhenAsked) {
  make("d");
  put("d/f", "old");
  ASSERT_EQ(::chmod(at("d/f").c_str(), 0750), 0);
  auto request = beneath(FileOp::tar_in, "d");
  request.keep_modes = true;
  const std::string archive = TarBlock{.name = "f", .mode = 0}.bytes() + TarBlock{.name = "new/g", .mode = 0}.bytes() +
                              TarBlock{.name = "h", .mode = 0600}.bytes() + tar_end();
  ASSERT_THAT(run(request, archive).status, Succeeds());
  EXPECT_EQ(mode("d/f"), 0750U);
  EXPECT_EQ(mode("d/new/g"), 0644U);
  EXPECT_EQ(mode("d/h"), 0600U);
}

TEST_P(TarInTest, FileInThePlaceOfAFifo_IsRefused) {
  make("d");
  ASSERT_EQ(::mkfifo(at("d/pipe").c_str(), 0666), 0);
  EXPECT_THAT(run(beneath(FileOp::tar_in, "d"), tar_file("pipe", "x") + tar_end()).status,
              FailsWith(ErrorCode::already_exists));
  EXPECT_THAT(names("d"), ElementsAre("pipe"));
}

TEST_P(TarInTest, ReadOnlyDirectories_AreFilledAndKeepTheirMode) {
  if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
  const std::string archive = tar_directory("ro", 0555) + tar_directory("ro/closed", 0) + tar_file("ro/f", "x", 0) +
                              tar_file("other", "x") + tar_file("ro/closed/g", "x") + tar_file("ro/h", "x") + tar_end();
  ASSERT_THAT(run_as_user(request(), archive).status, Succeeds());
  EXPECT_EQ(mode("to/ro"), 0555U);
  EXPECT_EQ(mode("to/ro/closed"), 0U);
  EXPECT_EQ(mode("to/ro/f"), 0U);
  EXPECT_EQ(get("to/ro/closed/g"), "x");
  EXPECT_EQ(get("to/ro/h"), "x");
  // Again: the directories there are read-only now, and that is found out before anything is moved.
  EXPECT_THAT(run_as_user(request(), archive).status, FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(names("to"), ElementsAre("other", "ro"));
}

TEST_P(TarInTest, FullDisk_IsSaidAndLeavesNothing) {
  const SmallDisk disk(at("to"), "size=256k");
  if (!disk.ok()) CLOCHE_CANNOT_TEST("mounts", "a file system cannot be mounted here");
  EXPECT_THAT(unpack(tar_file("a", "x") + tar_file("b", std::string(1 << 20, 'x'))).status,
              FailsSaying(ErrorCode::limit_reached, "no space left"));
  EXPECT_THAT(names("to"), IsEmpty());
}

TEST_P(TarInTest, MountInTheWay_ChangesNothing) {
  make("to/disk");
  const SmallDisk disk(at("to/disk"), "size=64k");
  if (!disk.ok()) CLOCHE_CANNOT_TEST("mounts", "a file system cannot be mounted here");
  EXPECT_THAT(unpack(tar_file("a", "x") + tar_file("disk/f", "x")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(names("to"), ElementsAre("disk"));
}

TEST_P(TarInTest, TwoHundredMegabytes_StreamThrough) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::close(ends[0]);
    const auto send = [&](std::string_view bytes) {
      return ::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    };
    const std::string megabyte(1'000'000, '\0');
    bool good = send(TarBlock{.name = "big", .size = 200'000'000}.bytes());
    for (int i = 0; i < 200; ++i) good = good && send(megabyte);
    ::_exit(good && send(tar_end()) ? 0 : 1);
  }
  ::close(ends[1]);
  const Answer answer = run_from(request(), ends[0]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_EQ(run(beneath(FileOp::stat, "to/big")).entries()[0].size, 200'000'000U);
}

TEST_P(TarInTest, CancelledBySigterm_LeavesNothing) {
  int content[2];
  ASSERT_EQ(::pipe(content), 0);
  const pid_t worker = ::fork();
  if (worker == 0) {
    ::close(content[1]);
    cancel_on_sigterm();
    const Status status = do_file_request(request(), {.in = content[0], .reply = [](auto&) { return Status(); }});
    ::_exit(!status && status.error().code == ErrorCode::cancelled ? 3 : 4);
  }
  ::close(content[0]);
  const std::string half =
      tar_directory("d") + TarBlock{.name = "d/f", .size = 10'000'000}.bytes() + std::string(1 << 20, 'x');
  // More than the pipe can hold: when all of it is written, the worker is running.
  ASSERT_EQ(::write(content[1], half.data(), half.size()), static_cast<ssize_t>(half.size()));
  ::kill(worker, SIGTERM);
  int status = 0;
  ::waitpid(worker, &status, 0);
  ::close(content[1]);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  expect_nothing_done();
}

CLOCHE_BOTH_WAYS(TarInTest);

}  // namespace
}  // namespace cloche::agent::testing
