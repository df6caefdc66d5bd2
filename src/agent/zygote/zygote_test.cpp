// A zygote as the agent starts it, on this machine and without a sandbox: with what it is given in C, and without,
// where a machine forbids that. Both must do the same.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

#include "agent/exec/supervised.hpp"
#include "agent/exec/supervisor.hpp"
#include "agent/sealed_file.hpp"
#include "agent/zygote/programs.hpp"
#include "support/eventually.hpp"
#include "support/missing.hpp"

namespace cloche::agent {
namespace {

using namespace std::chrono_literals;

constexpr uid_t nobody = 65534;
constexpr auto read_timeout = 60s;

bool wait_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, static_cast<int>(std::chrono::milliseconds(read_timeout).count())) == 1;
}

void send_with_fds(int socket, std::initializer_list<int> fds) {
  char one = 'f';
  iovec data{&one, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(5 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds.begin(), fds.size() * sizeof(int));
  ASSERT_EQ(::sendmsg(socket, &message, MSG_NOSIGNAL), 1);
}

std::string text(const std::string& words) {
  const auto size = static_cast<std::uint32_t>(words.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + words;
}

// Whom a run becomes.
struct Rights {
  std::uint32_t uid = nobody;
  std::uint32_t gid = nobody;
  std::uint32_t mark = 0;
};

// A fork that waits, then a run, as Zygotes has them.
struct ZygoteRun {
  UniqueFd waits;
  UniqueFd supervisor;
  std::array<std::uint32_t, 2> pids{};  // run, supervisor
  UniqueFd output;
};

enum class Means { native, python_alone };

class ZygoteTest : public testing::TestWithParam<Means> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) CLOCHE_DOES_NOT_APPLY("a zygote's run becomes another user, which only root can");
    auto control = Supervised::make_control();
    ASSERT_TRUE(control);
    UniqueFd library;
    UniqueFd watcher;
    if (GetParam() == Means::native) {
      auto library_file = sealed_file("fork_run", fork_run_library(), SealedUse::program);
      auto watcher_file = sealed_file("watcher", watcher_program(), SealedUse::program);
      ASSERT_TRUE(library_file && watcher_file);
      library = std::move(*library_file);
      watcher = std::move(*watcher_file);
    }
    zygote_ = ::fork();
    ASSERT_GE(zygote_, 0);
    if (zygote_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int theirs = control->second.get();
      ::fcntl(theirs, F_SETFD, 0);
      const int null = ::open("/dev/null", O_RDWR);
      ::dup2(null, 1);
      const std::string source = zygote_source();
      const std::string script_start = script_start_source();
      ::execlp("/usr/bin/python3", "python3", "-c", source.c_str(), std::to_string(theirs).c_str(), CLOCHE_AGENT, "",
               script_start.c_str(), std::to_string(library.get()).c_str(), std::to_string(watcher.get()).c_str(),
               nullptr);
      ::_exit(127);
    }
    control_ = std::move(control->first);
    char ready = 0;
    ASSERT_TRUE(wait_readable(control_.get()));
    ASSERT_EQ(::recv(control_.get(), &ready, 1, 0), 1) << "the zygote did not start";
    ASSERT_EQ(ready, 'r');
  }

  void TearDown() override {
    if (!script_.empty()) ::unlink(script_.c_str());
    control_.reset();
    if (zygote_ > 0) ::waitpid(zygote_, nullptr, 0);
  }

  void ask(ZygoteRun& run) {
    auto waits = Supervised::make_control();
    auto supervisor = Supervised::make_control();
    ASSERT_TRUE(waits && supervisor);
    send_with_fds(control_.get(), {waits->second.get(), supervisor->second.get()});
    run.waits = std::move(waits->first);
    run.supervisor = std::move(supervisor->first);
    waits->second.reset();
    supervisor->second.reset();
    char forked = 0;
    ASSERT_TRUE(wait_readable(control_.get()));
    ASSERT_EQ(::recv(control_.get(), &forked, 1, 0), 1);
    ASSERT_TRUE(wait_readable(run.waits.get()));
    ASSERT_EQ(::recv(run.waits.get(), run.pids.data(), sizeof run.pids, 0), static_cast<ssize_t>(sizeof run.pids));
  }

  void give(ZygoteRun& run, const std::string& source, SupervisorLimits limits = {}, Rights rights = {}) {
    char name[] = "/tmp/cloche-zygote-XXXXXX";
    UniqueFd file(::mkstemp(name));
    ASSERT_TRUE(file);
    ASSERT_EQ(::write(file.get(), source.data(), source.size()), static_cast<ssize_t>(source.size()));
    ASSERT_EQ(::fchmod(file.get(), 0644), 0);
    if (!script_.empty()) ::unlink(script_.c_str());
    script_ = name;
    const std::array<std::uint32_t, 5> head{rights.uid, rights.gid, rights.mark, 022, 0};
    const std::string request = std::string(reinterpret_cast<const char*>(head.data()), sizeof head) + text("/") +
                                text("1") + text("PATH=/usr/bin:/bin") + text(name);
    const auto asked = sealed_file("run", request, SealedUse::data);
    ASSERT_TRUE(asked) << asked.error().message;
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    run.output.reset(ends[0]);
    const UniqueFd theirs(ends[1]);
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::send(run.supervisor.get(), &limits, sizeof limits, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof limits));
    send_with_fds(run.waits.get(), {asked->get(), null.get(), theirs.get(), theirs.get()});
  }

  std::optional<SupervisorReport> next_report(ZygoteRun& run) {
    SupervisorReport report{};
    if (!wait_readable(run.supervisor.get())) return std::nullopt;
    if (::recv(run.supervisor.get(), &report, sizeof report, 0) != sizeof report) return std::nullopt;
    return report;
  }

  static std::string read_all(const UniqueFd& fd) {
    std::string all;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(n));
    return all;
  }

  // Started and ended; what it wrote.
  std::string finish(ZygoteRun& run, SupervisorReport& end) {
    const auto started = next_report(run);
    EXPECT_TRUE(started && started->has_ended == 0 && started->pid == static_cast<pid_t>(run.pids[0]));
    const auto ended = next_report(run);
    EXPECT_TRUE(ended && ended->has_ended == 1);
    end = ended.value_or(SupervisorReport{});
    return read_all(run.output);
  }

  pid_t zygote_ = -1;
  UniqueFd control_;
  std::string script_;
};

TEST_P(ZygoteTest, Run_SaysWhatItPrints_AndHowItEnded) {
  ZygoteRun run;
  SupervisorReport end{};
  ask(run);
  give(run, "import os, sys\nprint(os.getresuid(), os.getresgid(), os.getgroups())\nsys.exit(7)\n");
  EXPECT_EQ(finish(run, end), "(65534, 65534, 65534) (65534, 65534, 65534) []\n");
  EXPECT_TRUE(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 7) << end.status;
  EXPECT_GT(end.wall_us, 0U);
  EXPECT_GT(end.peak_rss_bytes, 1'000'000U);
}

TEST_P(ZygoteTest, RunWithAMark_HasItAsItsOnlyGroup) {
  ZygoteRun run;
  SupervisorReport end{};
  ask(run);
  give(run, "import os\nprint(os.getgroups())\n", {}, {.mark = 62'001});
  EXPECT_EQ(finish(run, end), "[62001]\n");
}

TEST_P(ZygoteTest, RequestToRunAsRoot_IsRefused) {
  for (const Rights rights : {Rights{.uid = 0}, Rights{.gid = 0}}) {
    ZygoteRun run;
    SupervisorReport end{};
    ask(run);
    give(run, "print('ran')\n", {}, rights);
    EXPECT_EQ(finish(run, end), "");
    EXPECT_TRUE(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 70) << end.status;
  }
}

TEST_P(ZygoteTest, CpuTimeOfAFork_IsNotItsRuns) {
  // One thread cannot use more than the time that passes. A clock that ticks may round, and rounds more on a busy
  // machine, so one good run is enough.
  SupervisorReport end{};
  const auto is_its_own = [&] {
    ZygoteRun run;
    ask(run);
    give(run, "pass\n");
    finish(run, end);
    return end.user_us + end.system_us <= end.wall_us + 300;
  };
  EXPECT_TRUE(testing_support::eventually(is_its_own)) << end.user_us + end.system_us << " of " << end.wall_us;
}

TEST_P(ZygoteTest, RunsOneAfterTheOther_AreForkedAnew) {
  for (int i = 0; i < 3; ++i) {
    ZygoteRun run;
    SupervisorReport end{};
    ask(run);
    give(run, "import builtins\nprint(hasattr(builtins, 'left'))\nbuiltins.left = 1\n");
    EXPECT_EQ(finish(run, end), "False\n");
    EXPECT_EQ(end.status, 0);
  }
}

TEST_P(ZygoteTest, ChildLeftBehind_EndsWithItsRun) {
  ZygoteRun run;
  SupervisorReport end{};
  ask(run);
  // Its output is the run's: it closes when both have ended.
  give(run,
       "import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(3600)\n  "
       "os._exit(0)\nos.wait()\nprint('left')\n");
  EXPECT_EQ(finish(run, end), "left\n");
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.stopped, static_cast<std::uint32_t>(wire::StopReason::none));
}

TEST_P(ZygoteTest, SleepBeyondItsWallLimit_IsStopped) {
  ZygoteRun run;
  SupervisorReport end{};
  ask(run);
  give(run, "import time\ntime.sleep(3600)\n", {.wall_ms = 300, .cpu_ms = 0});
  finish(run, end);
  EXPECT_TRUE(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL) << end.status;
  EXPECT_EQ(end.stopped, static_cast<std::uint32_t>(wire::StopReason::wall));
  EXPECT_GE(end.wall_us, 300'000U);
}

TEST_P(ZygoteTest, BusyBeyondItsCpuLimit_IsStopped) {
  ZygoteRun run;
  SupervisorReport end{};
  ask(run);
  give(run, "while True: pass\n", {.wall_ms = 0, .cpu_ms = 300});
  finish(run, end);
  EXPECT_EQ(end.stopped, static_cast<std::uint32_t>(wire::StopReason::cpu));
  EXPECT_GE(end.user_us + end.system_us, 250'000U);
}

TEST_P(ZygoteTest, SignalFromTheAgent_ReachesTheRun) {
  ZygoteRun run;
  ask(run);
  give(run,
       "import signal, sys\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit(9))\nprint('ready', flush=True)\nwhile "
       "True: signal.pause()\n");
  char first = 0;
  ASSERT_TRUE(wait_readable(run.output.get()));
  ASSERT_EQ(::read(run.output.get(), &first, 1), 1);
  const SupervisorCommand command{
      .verb = SupervisorCommand::Verb::signal, .signal = SIGUSR1, .target = wire::SignalTarget::program};
  ASSERT_EQ(::send(run.supervisor.get(), &command, sizeof command, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof command));
  SupervisorReport end{};
  EXPECT_EQ(finish(run, end), "eady\n");
  EXPECT_TRUE(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 9) << end.status;
}

TEST_P(ZygoteTest, AgentThatHasNoUseForAFork_EndsBothItsProcesses) {
  ZygoteRun run;
  ask(run);
  const auto pids = run.pids;
  run = {};
  const auto is_there = [](std::uint32_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0; };
  EXPECT_TRUE(testing_support::eventually([&] { return !is_there(pids[0]) && !is_there(pids[1]); }));
}

TEST_P(ZygoteTest, SupervisorThatDies_IsNoticedByItsAgent) {
  ZygoteRun run;
  ask(run);
  ASSERT_EQ(::kill(static_cast<pid_t>(run.pids[1]), SIGKILL), 0);
  ASSERT_TRUE(wait_readable(run.supervisor.get())) << "somebody else holds its socket";
  char byte = 0;
  EXPECT_EQ(::recv(run.supervisor.get(), &byte, 1, 0), 0);
}

INSTANTIATE_TEST_SUITE_P(With, ZygoteTest, testing::Values(Means::native, Means::python_alone),
                         [](const auto& about) { return about.param == Means::native ? "C" : "PythonAlone"; });

}  // namespace
}  // namespace cloche::agent
