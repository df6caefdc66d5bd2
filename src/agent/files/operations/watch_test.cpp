#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "agent/files/cancel.hpp"
#include "agent/files/testing/file_tester.hpp"
#include "core/unique_fd.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using Kind = wire::WatchEvent::Kind;

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::created: return "created";
    case Kind::written: return "written";
    case Kind::removed: return "removed";
    case Kind::renamed: return "renamed";
    case Kind::mode_changed: return "mode_changed";
    case Kind::overflow: return "overflow";
  }
  return "?";
}

// A worker that watches, as the agent's do.
class Watching {
 public:
  enum class As { root, user };

  Watching(const wire::FileRequest& request, As as) {
    int events[2];
    int replies[2];
    EXPECT_EQ(::pipe2(events, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(replies, O_CLOEXEC), 0);
    worker_ = ::fork();
    if (worker_ == 0) {
      ::close(events[0]);
      work(request, as, events[1], replies[1]);
    }
    ::close(events[1]);
    ::close(replies[1]);
    events_.reset(events[0]);
    replies_.reset(replies[0]);
    char byte = 0;
    armed_ = ::read(replies_.get(), &byte, 1) == 1 && byte == 'a';
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  ~Watching() {
    if (worker_ > 0) end();
  }

  bool armed() const { return armed_; }

  // All events up to one that is about this path.
  std::vector<std::string> until(const std::string& last) {
    std::vector<std::string> seen;
    for (;;) {
      const auto event = next();
      if (!event || event->path == last) return seen;
      // A file is written in as many pieces as it pleases.
      std::string text = std::string(name_of(event->kind)) + " " + event->path;
      if (seen.empty() || seen.back() != text) seen.push_back(std::move(text));
    }
  }

  // How it ended: c for cancelled, n for not found, o for another error.
  char verdict() {
    char byte = 0;
    return ::read(replies_.get(), &byte, 1) == 1 ? byte : '?';
  }

  void end() {
    ::kill(worker_, SIGTERM);
    wait();
  }

  void wait() {
    ::waitpid(worker_, nullptr, 0);
    worker_ = -1;
  }

 private:
  [[noreturn]] static void work(const wire::FileRequest& request, As as, int events, int replies) {
    cancel_on_sigterm();
    if (as == As::user && (::setgroups(0, nullptr) != 0 || ::setegid(user_id) != 0 || ::seteuid(user_id) != 0 ||
                           ::prctl(PR_SET_DUMPABLE, 0) != 0)) {
      ::_exit(1);
    }
    const auto say = [replies](char word) { (void)!::write(replies, &word, 1); };
    const Status done = do_file_request(request, {.out = events, .reply = [&](const wire::FileReply&) {
                                                    say('a');
                                                    return Status();
                                                  }});
    const ErrorCode code = done ? ErrorCode::internal : done.error().code;
    say(code == ErrorCode::cancelled ? 'c' : code == ErrorCode::not_found ? 'n' : 'o');
    ::_exit(0);
  }

  std::optional<wire::WatchEvent> next() {
    for (;;) {
      std::string_view rest = bytes_;
      std::uint64_t size = 0;
      if (wire::take_varint(rest, size) && rest.size() >= size) {
        wire::WatchEvent event;
        EXPECT_TRUE(wire::take_fields(rest.substr(0, size), event));
        bytes_.erase(0, bytes_.size() - rest.size() + size);
        return event;
      }
      char buffer[65536];
      const ssize_t n = ::read(events_.get(), buffer, sizeof buffer);
      if (n <= 0) return std::nullopt;
      bytes_.append(buffer, static_cast<std::size_t>(n));
    }
  }

  pid_t worker_ = -1;
  bool armed_ = false;
  UniqueFd events_;
  UniqueFd replies_;
  std::string bytes_;
};

class WatchTest : public BothWays {
 protected:
  wire::FileRequest request(std::string_view path = ".", bool recursive = false) const {
    auto ask = beneath(wire::FileOp::watch, path);
    ask.recursive = recursive;
    return ask;
  }
  // The events of these changes in the test's directory.
  std::vector<std::string> events_of(bool recursive, const std::function<void()>& change) {
    Watching watching(request(".", recursive), Watching::As::root);
    EXPECT_TRUE(watching.armed());
    change();
    put("zz-last");
    return watching.until("zz-last");
  }
  void rename(std::string_view from, std::string_view to) const {
    ASSERT_EQ(::rename(at(from).c_str(), at(to).c_str()), 0);
  }
};

TEST_P(WatchTest, EveryKindOfChange_IsToldByItsName) {
  put("old", "x");
  const auto events = events_of(false, [&] {
    put("new");
    put("old", "changed");
    ASSERT_EQ(::chmod(at("old").c_str(), 0600), 0);
    rename("old", "moved");
    ASSERT_EQ(::unlink(at("moved").c_str()), 0);
  });
  EXPECT_THAT(events, ElementsAre("created new", "mode_changed new", "written old", "mode_changed old", "renamed old",
                                  "created moved", "removed moved"));
}

TEST_P(WatchTest, FileOfTheAgent_IsWrittenWithoutATraceOfItsTemporaryName) {
  put("old", "x");
  const auto events = events_of(false, [&] {
    EXPECT_THAT(run(beneath(wire::FileOp::write, "old"), "content").status, Succeeds());
    EXPECT_THAT(run(beneath(wire::FileOp::write, "new"), "content").status, Succeeds());
  });
  EXPECT_THAT(events, Contains("written old"));
  EXPECT_THAT(events, Contains("created new"));
  EXPECT_THAT(events, Contains("written new"));
  for (const std::string& event : events) EXPECT_EQ(event.find(".cloche-"), std::string::npos) << event;
}

TEST_P(WatchTest, FileThatGrows_IsCreatedThenGetsItsModeThenIsWritten) {
  const auto events = events_of(false, [&] {
    for (const char* name : {"one", "two", "three"}) {
      auto request = beneath(wire::FileOp::write, name);
      request.in_place = true;
      EXPECT_THAT(run(request, "content").status, Succeeds());
    }
  });
  EXPECT_THAT(events, ElementsAre("created one", "mode_changed one", "written one", "created two", "mode_changed two",
                                  "written two", "created three", "mode_changed three", "written three"));
}

TEST_P(WatchTest, WithoutRecursion_NothingBelowIsTold) {
  make("d");
  const auto events = events_of(false, [&] { put("d/f", "x"); });
  EXPECT_THAT(events, Not(Contains("created d/f")));
}

TEST_P(WatchTest, TreesThatAppear_AreToldWithAllThatIsInThem) {
  make("d");
  make("outside-of-it");
  Watching watching(request("d", true), Watching::As::root);
  ASSERT_TRUE(watching.armed());
  make("d/a");
  make("d/a/b");
  put("d/a/b/f", "x");
  make("outside-of-it/t");
  put("outside-of-it/t/g", "x");
  rename("outside-of-it/t", "d/t");
  put("d/t/h", "x");
  put("d/zz-last");
  const auto events = watching.until("zz-last");
  for (const char* name : {"a", "a/b", "a/b/f", "t", "t/g", "t/h"}) {
    EXPECT_EQ(std::ranges::count(events, std::string("created ") + name), 1) << name;
  }
  EXPECT_THAT(events, Contains("written a/b/f"));
  EXPECT_THAT(events, Contains("written t/g"));
}

TEST_P(WatchTest, DirectoryMovedWithinTheTree_GoesOnUnderItsNewName) {
  make("a");
  put("a/f", "x");
  Watching watching(request(".", true), Watching::As::root);
  rename("a", "b");
  put("marker");
  const auto moved = watching.until("marker");
  EXPECT_THAT(moved, Contains("renamed a"));
  EXPECT_THAT(moved, Contains("created b"));
  put("b/f", "more");
  put("zz-last");
  const auto events = watching.until("zz-last");
  EXPECT_THAT(events, Contains("written b/f"));
  EXPECT_THAT(events, Not(Contains("written a/f")));
}

TEST_P(WatchTest, DirectoryMovedOut_IsNoLongerWatched) {
  make("tree");
  make("tree/a");
  make("elsewhere");
  Watching watching(request("tree", true), Watching::As::root);
  rename("tree/a", "elsewhere/a");
  put("tree/marker");
  EXPECT_THAT(watching.until("marker"), ElementsAre("renamed a"));
  put("elsewhere/a/f", "x");
  put("tree/zz-last");
  for (const std::string& event : watching.until("zz-last")) EXPECT_EQ(event.find("a/f"), std::string::npos) << event;
}

TEST_P(WatchTest, RemovedDirectory_EndsItAfterItsLastEvents) {
  make("d");
  put("d/f", "x");
  Watching watching(request("d"), Watching::As::root);
  ASSERT_EQ(::unlink(at("d/f").c_str()), 0);
  ASSERT_EQ(::rmdir(at("d").c_str()), 0);
  EXPECT_THAT(watching.until("nothing more"), Contains("removed f"));
  EXPECT_EQ(watching.verdict(), 'n');
}

TEST_P(WatchTest, MovedDirectory_EndsIt) {
  make("d");
  Watching watching(request("d", true), Watching::As::root);
  rename("d", "e");
  watching.until("nothing more");
  EXPECT_EQ(watching.verdict(), 'n');
}

TEST_P(WatchTest, CancelledWhileItWaits_Ends) {
  Watching watching(request(), Watching::As::root);
  ASSERT_TRUE(watching.armed());
  watching.end();
  EXPECT_EQ(watching.verdict(), 'c');
}

TEST_P(WatchTest, WhatIsNoDirectory_IsNotFound) {
  put("f");
  for (const char* path : {"f", "missing"}) {
    Watching watching(request(path), Watching::As::root);
    EXPECT_FALSE(watching.armed());
  }
}

TEST_P(WatchTest, MoreDirectoriesThanAllowed_AreAnOverflowAndTheRestIsWatched) {
  for (int i = 0; i < 20; ++i) make("d" + std::to_string(i));
  auto ask = request(".", true);
  ask.max_entries = 5;
  Watching watching(ask, Watching::As::root);
  ASSERT_TRUE(watching.armed());
  put("zz-last");
  const auto events = watching.until("zz-last");
  EXPECT_EQ(std::ranges::count_if(events, [](const auto& event) { return event.starts_with("overflow"); }), 1);
}

TEST_P(WatchTest, ReaderThatDoesNotRead_GetsAnOverflowAndTheLaterEvents) {
  Watching watching(request(), Watching::As::root);
  ASSERT_TRUE(watching.armed());
  const std::string stem(200, 'n');
  // More than the pipe, the output and the kernel's queue hold together.
  for (int i = 0; i < 30'000; ++i) {
    const std::string name = at(stem + std::to_string(i));
    const UniqueFd file(::open(name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    ::unlink(name.c_str());
  }
  std::size_t overflows = 0;
  // The first read makes room; what is created then may still be among what is lost, so it is created until it is seen.
  const pid_t maker = ::fork();
  if (maker == 0) {
    for (int i = 0; i < 10'000; ++i) {
      const UniqueFd file(::open(at("zz-last").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
      ::unlink(at("zz-last").c_str());
      ::poll(nullptr, 0, 10);
    }
    ::_exit(0);
  }
  for (const std::string& event : watching.until("zz-last")) overflows += event.starts_with("overflow") ? 1 : 0;
  ::kill(maker, SIGKILL);
  ::waitpid(maker, nullptr, 0);
  EXPECT_GE(overflows, 1U);
}

TEST_P(WatchTest, DirectoriesThatTheUserCannotRead_AreNotTold) {
  if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
  make("theirs");
  make("theirs/below");
  ASSERT_EQ(::chown(at("theirs").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(at("theirs").c_str(), 0711), 0);
  Watching watching(request(".", true), Watching::As::user);
  ASSERT_TRUE(watching.armed());
  put("theirs/secret", "x");
  put("theirs/below/f", "x");
  put("zz-last");
  for (const std::string& event : watching.until("zz-last")) EXPECT_EQ(event.find("theirs/"), event.npos) << event;
  Watching refused(request("theirs", true), Watching::As::user);
  EXPECT_FALSE(refused.armed());
}

TEST_P(WatchTest, DirectoryThatIsClosedLater_IsNoLongerTold) {
  if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
  make("d");
  Watching watching(request(".", true), Watching::As::user);
  ASSERT_EQ(::chown(at("d").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(at("d").c_str(), 0700), 0);
  put("marker");
  EXPECT_THAT(watching.until("marker"), Contains("overflow d"));
  put("d/secret", "x");
  put("zz-last");
  for (const std::string& event : watching.until("zz-last")) EXPECT_EQ(event.find("d/secret"), event.npos) << event;
}

TEST_P(WatchTest, LinkToADirectory_IsNotWalkedInto) {
  make("tree");
  make("other");
  link("../other", "tree/link");
  Watching watching(request("tree", true), Watching::As::root);
  put("other/f", "x");
  put("tree/zz-last");
  EXPECT_THAT(watching.until("zz-last"), ElementsAre());
}

CLOCHE_BOTH_WAYS(WatchTest);

}  // namespace
}  // namespace cloche::agent::testing
