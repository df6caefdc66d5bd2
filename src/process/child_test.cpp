#include "process/child.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "process/capture.hpp"
#include "process/descriptors.hpp"
#include "process/programs.hpp"
#include "support/missing.hpp"

namespace cloche::process {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Spec shell(const std::string& script) {
  Spec spec;
  spec.program = "/bin/sh";
  spec.argv = {"sh", "-c", script};
  spec.environment = {"PATH=" + std::string(system_path)};
  return spec;
}

struct Started {
  Child child;
  UniqueFd output;

  // Until every process has closed it.
  std::string read_to_end() const {
    std::string all;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(output.get(), buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(n));
    return all;
  }
  std::string read_line() const {
    std::string line;
    for (char c = 0; ::read(output.get(), &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
};

Started start(Spec spec) {
  auto out = make_pipe();
  EXPECT_TRUE(out) << out.error().message;
  spec.out = out->write.get();
  spec.err = out->write.get();
  auto child = Child::start(spec);
  if (!child) throw std::runtime_error(child.error().message);
  return {std::move(*child), std::move(out->read)};
}

std::string output_of(const Spec& spec) {
  Started started = start(spec);
  return started.read_to_end();
}

TEST(Child, ExitCodesAndSignals_AreReported) {
  EXPECT_EQ(start(shell("exit 7")).child.reap().exit_code(), 7);
  Started killed = start(shell("kill -SEGV $$"));
  EXPECT_EQ(killed.child.reap().signal(), SIGSEGV);
  EXPECT_EQ(killed.child.reap().exit_code(), 128 + SIGSEGV);
}

TEST(Child, ProgramThatDoesNotExist_IsNamedWithTheStep) {
  Spec spec = shell("");
  spec.program = "/nonexistent/program";
  spec.out = spec.err = STDERR_FILENO;
  const auto child = Child::start(spec);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::not_found);
  EXPECT_THAT(child.error().message, HasSubstr("start /nonexistent/program: execute"));
  const auto again = Child::try_start(spec);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().where, StartFailure::Where::child);
  EXPECT_EQ(again.error().number, ENOENT);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child was left";
}

TEST(Child, DirectoryThatDoesNotExist_IsAFailureToStart) {
  Spec spec = shell("");
  spec.out = spec.err = STDERR_FILENO;
  spec.directory = "/nonexistent";
  EXPECT_THAT(Child::start(spec).error().message, HasSubstr("enter the directory"));
  spec.directory = "/usr";
  spec.argv = {"sh", "-c", "pwd"};
  EXPECT_EQ(output_of(spec), "/usr\n");
}

const char* fail_on_purpose(const void* context) {
  errno = *static_cast<const int*>(context);
  return "fail on purpose";
}

TEST(Child, StepThatFails_IsNamed) {
  const int number = EBUSY;
  Spec spec = shell("echo not reached");
  spec.out = spec.err = STDERR_FILENO;
  spec.steps = {{fail_on_purpose, &number}};
  const auto child = Child::try_start(spec);
  ASSERT_FALSE(child);
  EXPECT_STREQ(child.error().step, "fail on purpose");
  EXPECT_EQ(child.error().number, EBUSY);
}

TEST(Child, Environment_IsExact) {
  ::setenv("CLOCHE_TEST_SECRET", "secret", 1);
  Spec spec = shell("");
  spec.program = "/usr/bin/env";
  spec.argv = {"env"};
  spec.environment = {"A=1", "B=two words"};
  EXPECT_EQ(output_of(spec), "A=1\nB=two words\n");
  ::unsetenv("CLOCHE_TEST_SECRET");
}

TEST(Child, Descriptors_AreThreeAlone) {
  const UniqueFd leaked(::dup(0));  // not close-on-exec, as a careless library leaves it
  // 3 is the directory that ls reads.
  EXPECT_EQ(output_of(shell("ls /proc/self/fd | tr '\\n' ' '")), "0 1 2 3 ");
}

// The descriptors of a caller without stdin are in the way of those of the child.
TEST(Child, CallersLowDescriptors_AreNotMixedUp) {
  const UniqueFd kept(::fcntl(0, F_DUPFD_CLOEXEC, 20));
  ::close(0);
  const std::string output = output_of(shell("cat; echo out; echo err >&2"));
  ::dup2(kept.get(), 0);
  EXPECT_EQ(output, "out\nerr\n");
}

TEST(Child, InputThatIsNotGiven_IsEmpty) { EXPECT_EQ(output_of(shell("cat; echo end")), "end\n"); }

// What a signal of any number is for, also one that the C library keeps for itself.
void set_action(int signal, void (*handler)(int)) {
  struct {
    void (*handler)(int);
    unsigned long flags, restorer, mask;
  } const action = {handler, 0, 0, 0};
  ::syscall(SYS_rt_sigaction, signal, &action, nullptr, 8);
}

TEST(Child, SignalMaskAndHandlers_AreNotInherited) {
  constexpr std::array ignored = {SIGUSR2, 32, 33, 64};
  sigset_t some;
  ::sigemptyset(&some);
  ::sigaddset(&some, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &some, nullptr);
  for (const int signal : ignored) set_action(signal, SIG_IGN);
  const std::string status = output_of(shell("grep -E '^Sig(Blk|Ign):' /proc/self/status"));
  for (const int signal : ignored) set_action(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &some, nullptr);
  EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Child, AfterTheDeadline_IsKilledWithItsChildren) {
  Started started = start(shell("sleep 1000 & echo ready; wait"));
  EXPECT_EQ(started.read_line(), "ready");
  const auto end = started.child.finish(Deadline::after(1ms));
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::timeout);
  // The pipe ends when its last writer has: sleep, too.
  EXPECT_EQ(started.read_to_end(), "");
}

TEST(Child, ThatIsDestroyed_EndsWithItsChildren) {
  UniqueFd output;
  {
    Started started = start(shell("sleep 1000 & echo ready; wait"));
    EXPECT_EQ(started.read_line(), "ready");
    output = std::move(started.output);
  }
  char c = 0;
  EXPECT_EQ(::read(output.get(), &c, 1), 0);
}

TEST(Child, ThatHasEnded_KeepsItsNumberUntilItIsReaped) {
  Started started = start(shell("exit 3"));
  EXPECT_TRUE(started.child.ends_by(Deadline::never()));
  EXPECT_EQ(::kill(started.child.pid(), 0), 0);
  EXPECT_EQ(started.child.reap().exit_code(), 3);
  EXPECT_EQ(::kill(started.child.pid(), 0), -1);
}

// Its number may then be that of another process: here of another child.
TEST(Child, ThatIsReaped_SendsNoSignal) {
  Started reaped = start(shell("exit 3"));
  reaped.child.reap();
  reaped.child.kill();
  reaped.child.signal(SIGKILL);
  EXPECT_TRUE(reaped.child.ends_by(Deadline::never()));
  EXPECT_EQ(reaped.child.reap().exit_code(), 3);
  const Child moved = std::move(reaped.child);
  EXPECT_EQ(moved.pid(), reaped.child.pid());
}

TEST(Child, Session_IsItsOwnUnlessAskedFor) {
  const std::string script = "test $(ps -o sid= -p $$) = $$ && echo own || echo other";
  Spec spec = shell(script);
  EXPECT_EQ(output_of(spec), "own\n");
  spec.session = Spec::Session::callers;
  EXPECT_EQ(output_of(spec), "other\n");
}

TEST(Child, Limits_AreSetAndNeverRaised) {
  Spec spec = shell("ulimit -c; ulimit -n");
  spec.limits = {{RLIMIT_CORE, 0}, {RLIMIT_NOFILE, 64}};
  EXPECT_EQ(output_of(spec), "0\n64\n");
  rlimit own{};
  ::getrlimit(RLIMIT_NOFILE, &own);
  spec.limits = {{RLIMIT_CORE, 0}, {RLIMIT_NOFILE, RLIM_INFINITY}};
  EXPECT_EQ(output_of(spec), "0\n" + std::to_string(own.rlim_max) + "\n");
}

TEST(Child, User_IsChangedInTheChildAlone) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "needs root");
  Spec spec = shell("id -u; id -G; grep PPid: /proc/self/status >/dev/null && echo runs");
  spec.user = Credentials{65534, 65534};
  spec.parent_death = Spec::ParentDeath::is_killed;
  EXPECT_EQ(output_of(spec), "65534\n65534\nruns\n");
  uid_t other = 0;
  std::thread([&] { other = ::geteuid(); }).join();
  EXPECT_EQ(::geteuid(), 0U);
  EXPECT_EQ(other, 0U);
}

CLOCHE_IN_CHILD const char* mount_proc(const void*) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "part from the mounts";
  return ::mount("proc", "/proc", "proc", 0, nullptr) == 0 ? nullptr : "mount /proc";
}

TEST(Child, InNamespaces_IsTheFirstProcessAndTakesAllOthersAlong) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "needs root");
  Spec spec = shell("setsid sleep 1000 & echo $$; read -r _ < /proc/1/comm && echo seen; wait");
  spec.namespaces = CLONE_NEWPID | CLONE_NEWNS;
  spec.parent_death = Spec::ParentDeath::is_killed;
  spec.steps = {{mount_proc, nullptr}};
  Started started = start(spec);
  EXPECT_EQ(started.read_line(), "1");
  EXPECT_EQ(started.read_line(), "seen");
  started.child.kill();
  EXPECT_EQ(started.child.reap().signal(), SIGKILL);
  EXPECT_EQ(started.read_to_end(), "");
}

TEST(Child, WhoseParentEnds_IsKilled) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const pid_t parent = ::fork();
  if (parent == 0) {
    Spec spec = shell("echo ready; exec sleep 1000");
    spec.out = spec.err = pipe->write.get();
    spec.parent_death = Spec::ParentDeath::is_killed;
    auto child = Child::start(spec);
    for (;;) ::pause();
  }
  pipe->write.reset();
  char text[6] = {};
  ASSERT_EQ(::read(pipe->read.get(), text, sizeof text), 6);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_EQ(::read(pipe->read.get(), text, sizeof text), 0);
}

// What many requests at once do: no child keeps what belongs to another.
TEST(Child, StartedFromManyThreads_DoNotShareDescriptors) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      for (int round = 0; round < 20; ++round)
        EXPECT_EQ(output_of(shell("echo " + std::to_string(i))), std::to_string(i) + "\n");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cloche::process
