#include "agent/exec/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <thread>

#include "agent/exec/elevated.hpp"
#include "agent/identity.hpp"
#include "agent/reset/process_table.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long a killed tree may take to disappear before the result is reported anyway.
constexpr milliseconds tree_timeout{5'000};
constexpr std::size_t large_tree = 8;

std::uint64_t in_us(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

// The CPU time of a process with all its threads; nothing if the kernel does not report it.
std::uint64_t cpu_us_of(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(used.tv_nsec) / 1'000;
}

class Supervisor {
 public:
  Supervisor(int control, SupervisorLimits limits, Clock::time_point started = Clock::now())
      : control_(control), limits_(limits), started_(started) {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    children_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  void launch(const wire::ExecRequest& request, const ProgramFds& fds) {
    int report[2];
    if (::pipe2(report, O_CLOEXEC) != 0) return not_started("create a pipe", errno);
    const UniqueFd read_end(report[0]);
    UniqueFd write_end(report[1]);
    const pid_t pid = ::fork();
    if (pid < 0) return not_started("fork", errno);
    if (pid == 0) become_program(request, fds, write_end.get());
    write_end.reset();
    ::close(fds.in);
    if (fds.out != fds.in) ::close(fds.out);
    if (fds.err != fds.in && fds.err != fds.out) ::close(fds.err);
    if (fds.event >= 0) ::close(fds.event);
    LaunchFailure failure;
    ssize_t n = 0;
    do {
      n = ::read(read_end.get(), &failure, sizeof failure);
    } while (n < 0 && errno == EINTR);
    if (n == sizeof failure) {
      ::waitpid(pid, nullptr, 0);
      failure.step[sizeof failure.step - 1] = '\0';
      return not_started(failure.step, failure.error);
    }
    adopt(pid);
  }

  // Of a program that is there already; so far it has only been forked.
  void adopt_waiting(pid_t program) {
    spent_us_ = cpu_us_of(program);
    adopt(program);
  }

  void adopt(pid_t program) {
    program_ = program;
    tell(SupervisorReport{.pid = program});
  }

  void take_over(pid_t program, const WatcherReport& watched) {
    program_ = program;
    spent_us_ = watched.spent_us;
    ended_at_ = watched.ended;
    if (watched.ended) status_ = watched.status;
  }

  // Until the program has ended or must end; then ends the tree.
  void watch() {
    while (program_ > 0 && !status_ && stopped_ == wire::StopReason::none && !abandoned_) {
      reap();
      if (status_) break;
      std::vector<pollfd> polled = {{children_.get(), POLLIN, 0}, {control_, POLLIN, 0}};
      elevated_.add_to(polled);
      if (::poll(polled.data(), polled.size(), next_check()) < 0 && errno != EINTR) break;
      drain_signals();
      elevated_.take(polled.data() + 2);
      if (polled[1].revents != 0) take_command();
      reap();
      if (!status_) check_limits();
    }
    end_tree();
  }

  void report_end() {
    if (abandoned_) return;
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    ended_.has_ended = 1;
    ended_.pid = program_;
    ended_.status = status_.value_or(-1);
    ended_.stopped = static_cast<std::uint32_t>(stopped_);
    ended_.wall_us = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(ended_at_.value_or(Clock::now()) - started_).count());
    ended_.user_us = in_us(usage.ru_utime);
    ended_.system_us = in_us(usage.ru_stime);
    leave_out(&ended_, spent_us_);
    ended_.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    tell(ended_);
  }

 private:
  void tell(const SupervisorReport& report) const { ::send(control_, &report, sizeof report, MSG_NOSIGNAL); }

  void not_started(const char* step, int error) {
    ended_.error = error;
    std::snprintf(ended_.failed_step, sizeof ended_.failed_step, "%s", step);
  }

  void drain_signals() {
    signalfd_siginfo info;
    while (::read(children_.get(), &info, sizeof info) > 0) {
    }
  }

  // Collects every child that has ended; true while there are others.
  bool reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG | __WALL);
      if (pid == program_ && pid > 0) {
        status_ = status;
        ended_at_ = Clock::now();
      }
      if (pid > 0) elevated_.on_ended(pid, status);
      if (pid == 0) return true;
      if (pid < 0) return errno == EINTR;
    }
  }

  void take_command() {
    SupervisorCommand command;
    ElevationOrder order;
    UniqueFd connection;
    const ssize_t n = receive(command, order, connection);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
      abandoned_ = true;
      return;
    }
    if (n == sizeof command + sizeof order && connection) return elevated_.start(std::move(connection), order);
    if (n != sizeof command) return;
    if (command.verb == SupervisorCommand::Verb::stop) {
      stopped_ = command.reason;
    } else if (command.target == wire::SignalTarget::program) {
      ::kill(program_, command.signal);
    } else if (command.target == wire::SignalTarget::group) {
      // The program leads a group of its own unless it moved away.
      if (::kill(-program_, command.signal) != 0) ::kill(program_, command.signal);
    } else {
      signal_tree(command.signal);
    }
  }

  ssize_t receive(SupervisorCommand& command, ElevationOrder& order, UniqueFd& connection) const {
    char control[CMSG_SPACE(sizeof(int))] = {};
    iovec data[2] = {{&command, sizeof command}, {&order, sizeof order}};
    msghdr message{};
    message.msg_iov = data;
    message.msg_iovlen = 2;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(control_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const cmsghdr* header = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
      connection.reset(fd);
    }
    return n;
  }

  std::size_t signal_tree(int number) {
    const auto tree = descendants(read_process_table(), ::getpid());
    std::size_t living = 0;
    for (const ProcessRow& row : tree) {
      // A process whose first thread has ended looks like a zombie, while others of its threads go on.
      ::kill(row.pid, number);
      if (row.state != 'Z') ++living;
    }
    return living;
  }

  std::uint64_t cpu_used_ms() const {
    rusage reaped{};
    ::getrusage(RUSAGE_CHILDREN, &reaped);
    std::uint64_t us = in_us(reaped.ru_utime) + in_us(reaped.ru_stime);
    for (const ProcessRow& row : descendants(read_process_table(), ::getpid())) us += row.cpu_us;
    return (us - std::min(us, spent_us_)) / 1000;
  }

  void check_limits() {
    const auto now = Clock::now();
    if (limits_.wall_ms != 0 && now - started_ >= milliseconds(limits_.wall_ms)) {
      stopped_ = wire::StopReason::wall;
    } else if (limits_.cpu_ms != 0 && now >= next_cpu_check_) {
      const std::uint64_t used = cpu_used_ms();
      if (used >= limits_.cpu_ms) {
        stopped_ = wire::StopReason::cpu;
      } else {
        // It cannot use what is left sooner than with all cores at once.
        static const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
        next_cpu_check_ = now + milliseconds(std::max<std::uint64_t>(5, (limits_.cpu_ms - used) / cores));
      }
    }
  }

  int next_check() const {
    auto next = Clock::time_point::max();
    if (limits_.wall_ms != 0) next = started_ + milliseconds(limits_.wall_ms);
    if (limits_.cpu_ms != 0) next = std::min(next, next_cpu_check_);
    if (next == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
  }

  // Kills and reaps until nothing descends from us any more. A tree that is large, or forks faster than it is killed,
  // is first stopped: it cannot fork then, and still counts in the limit of processes. One call stops the group of a
  // program that is alive. Only that is quick enough for a fork bomb that takes all processors and fills the memory.
  void end_tree() {
    const auto deadline = Clock::now() + tree_timeout;
    if (program_ > 0 && !status_) ::kill(-program_, SIGSTOP);
    for (int round = 0; reap() && Clock::now() < deadline; ++round) {
      if (round >= 3 || (round == 0 && descendants(read_process_table(), ::getpid()).size() > large_tree)) {
        while (signal_tree_once_stopped() && Clock::now() < deadline) {
        }
      }
      if (signal_tree(SIGKILL) == 0 && !has_children()) break;
      pollfd polled{children_.get(), POLLIN, 0};
      ::poll(&polled, 1, 20);
      drain_signals();
    }
  }

  // Stops all that are not stopped; true while new ones were found.
  bool signal_tree_once_stopped() {
    bool found = false;
    for (const ProcessRow& row : descendants(read_process_table(), ::getpid())) {
      if (row.state == 'T' || row.state == 't' || row.state == 'X') continue;
      ::kill(row.pid, SIGSTOP);
      found = found || row.state != 'Z';
    }
    return found;
  }

  static bool has_children() {
    siginfo_t info;
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
  }

  int control_;
  SupervisorLimits limits_;
  Clock::time_point started_;
  std::uint64_t spent_us_ = 0;  // cpu time that is not the program's
  Clock::time_point next_cpu_check_{};
  UniqueFd children_;
  pid_t program_ = -1;
  std::optional<int> status_;
  std::optional<Clock::time_point> ended_at_;
  wire::StopReason stopped_ = wire::StopReason::none;
  bool abandoned_ = false;
  SupervisorReport ended_{};
  ElevatedCommands elevated_;
};

}  // namespace

void supervise_new(const wire::ExecRequest& request, const ProgramFds& fds, int control) {
  ::prctl(PR_SET_NAME, "cloche-super", 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  Supervisor supervisor(control, {.wall_ms = request.wall_ms, .cpu_ms = request.cpu_ms});
  supervisor.launch(request, fds);
  supervisor.watch();
  supervisor.report_end();
  ::_exit(0);
}

void supervise_existing(pid_t program, int control) {
  hide_memory();
  ::prctl(PR_SET_NAME, "cloche-super", 0, 0, 0);
  SupervisorLimits limits{};
  if (::recv(control, &limits, sizeof limits, 0) != sizeof limits) {
    ::kill(program, SIGKILL);
    ::_exit(1);
  }
  Supervisor supervisor(control, limits);
  supervisor.adopt_waiting(program);
  supervisor.watch();
  supervisor.report_end();
  ::_exit(0);
}

void supervise_watched(pid_t program, int control, const WatcherReport& watched) {
  hide_memory();
  ::prctl(PR_SET_NAME, "cloche-super", 0, 0, 0);
  Supervisor supervisor(control, watched.limits, watched.started);
  supervisor.take_over(program, watched);
  supervisor.watch();
  supervisor.report_end();
  ::_exit(0);
}

}  // namespace cloche::agent
