#include "agent/agent.hpp"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/call_filter.hpp"
#include "agent/egress/egress.hpp"
#include "agent/exec/background.hpp"
#include "agent/exec/exec_stream.hpp"
#include "agent/exec/oom_counter.hpp"
#include "agent/exec/process_evidence.hpp"
#include "agent/identity.hpp"
#include "agent/kernel_probe.hpp"
#include "agent/link/file_stream.hpp"
#include "agent/link/loop.hpp"
#include "agent/link/server_link.hpp"
#include "agent/link/tcp_stream.hpp"
#include "agent/own_process.hpp"
#include "agent/reset/ipc_objects.hpp"
#include "agent/reset/reset.hpp"
#include "agent/sudo/gate.hpp"
#include "agent/version.hpp"
#include "agent/zygote/zygotes.hpp"
#include "wire/egress_messages.hpp"
#include "wire/exec_messages.hpp"
#include "wire/file_messages.hpp"

namespace cloche::agent {

namespace {

// System calls that neither a runtime nor an engine has blocked. Open message queues only cost the sandbox its reuse;
// with namespaces a program could exceed its process limit.
void close_open_calls() {
  const ClosedCalls closed{.queues = has_invisible_queues(), .namespaces = can_make_namespaces()};
  if (!closed.queues && !closed.namespaces) return;
  const Status done = close_calls(closed);
  if (done || !closed.namespaces) return;
  std::fprintf(stderr, "cloche-agent: %s\n", done.error().message.c_str());
  std::_Exit(1);
}

class InstantStream final : public Stream {
 public:
  using Stream::Stream;
  void on_cancel() override { close(); }
};

class Agent {
 public:
  explicit Agent(std::optional<pid_t> relay)
      : relay_(relay),
        zygotes_(loop_, own_path()),
        background_(loop_, zygotes_, writers_),
        egress_(loop_),
        sudo_(loop_),
        link_(
            loop_, STDIN_FILENO, STDOUT_FILENO,
            [this](ServerLink&, wire::StreamId id, std::string_view request) { return open(id, request); },
            [this](const wire::Hello& hello, wire::Ready& ready) { greet(hello, ready); }) {
    reap_orphans();
  }

  [[noreturn]] void run() {
    own_evidence_ = evidence_of(::getpid(), EvidenceOf::itself);
    loop_.run();
    std::_Exit(0);
  }

 private:
  void greet(const wire::Hello& hello, wire::Ready& ready) {
    keep_ = hello.keep;
    allow_root(hello.root);
    if (hello.root) sudo_.open();
    if (!keep_.empty()) writers_.share();
    ready.build = version;
    ready.background = static_cast<std::uint32_t>(background_.size());
    ready.counts_oom_kills = read_oom_kills().has_value();
    ready.file_level = wire::file_level;
    ready.egress_level = wire::egress_level;
    ready.is_gvisor = is_gvisor();
  }

  Result<std::unique_ptr<Stream>> open(wire::StreamId id, std::string_view request) {
    const auto kind = wire::kind_of(request);
    if (!kind) return fail(ErrorCode::invalid_argument, "request without a kind");
    switch (static_cast<wire::RequestKind>(*kind)) {
      case wire::RequestKind::exec: {
        CLOCHE_TRY(auto exec, wire::decode<wire::ExecRequest>(request));
        users_.emplace(exec.uid, exec.gid);
        if (exec.background) return background_.open_start(link_, id, std::move(exec));
        return open_exec_stream(link_, id, loop_, zygotes_, writers_, exec);
      }
      case wire::RequestKind::exec_list: return background_.open_list(link_, id);
      case wire::RequestKind::exec_attach: {
        CLOCHE_TRY(const auto attach, wire::decode<wire::ExecAttachRequest>(request));
        return background_.open_attach(link_, id, attach);
      }
      case wire::RequestKind::file: {
        CLOCHE_TRY(const auto file, wire::decode<wire::FileRequest>(request));
        users_.emplace(file.uid, file.gid);
        return open_file_stream(link_, id, loop_, writers_, file);
      }
      case wire::RequestKind::tcp: {
        CLOCHE_TRY(const auto tcp, wire::decode<wire::TcpRequest>(request));
        return open_tcp_stream(link_, id, loop_, tcp);
      }
      case wire::RequestKind::reset: return reset(id);
      case wire::RequestKind::zygote: {
        CLOCHE_TRY(const auto zygote, wire::decode<wire::ZygoteRequest>(request));
        return zygotes_.open_start(link_, id, zygote);
      }
      case wire::RequestKind::egress: {
        CLOCHE_TRY(const auto egress, wire::decode<wire::EgressRequest>(request));
        return egress_.open(link_, id, egress);
      }
      case wire::RequestKind::egress_take: {
        CLOCHE_TRY(const auto take, wire::decode<wire::EgressTakeRequest>(request));
        return egress_.take(link_, id, take);
      }
    }
    return fail(ErrorCode::unsupported, "this agent does not support requests of kind " + std::to_string(*kind));
  }

  Result<std::unique_ptr<Stream>> reset(wire::StreamId id) {
    const bool had_egress = egress_.is_open();
    link_.cancel_all();
    background_.clear();
    const auto silent = zygotes_.settle();
    std::erase_if(users_, [](const auto& user) { return user.first == agent_uid || user.second == 0; });
    // Where no program and no file operation has been since the last reset, what survives is as it was proved then.
    const bool was_used = !users_.empty();
    ResetPlan plan{.users = users_, .spared = zygotes_.pids(), .spares_entered = relay_.has_value(), .keep = keep_};
    if (relay_) plan.spared.insert(*relay_);
    auto report = reset_sandbox(plan);
    if (was_used) prove_survivors(report.leftovers);
    // The streams belong to the last use, which has ended, and so does everything that waits to be sent.
    link_.close_all({ErrorCode::cancelled, "the sandbox was reset"});
    // Its owner would still relay for the next use.
    if (had_egress) report.leftovers.emplace_back("egress that was still open");
    for (const auto& name : silent)
      report.leftovers.push_back("possibly a run of zygote '" + name + "', which does not respond");
    if (report.leftovers.empty()) users_.clear();
    loop_.later([this] { zygotes_.replace_spares(); });
    auto stream = std::make_unique<InstantStream>(link_, id);
    stream->send(report);
    stream->close();
    return stream;
  }

  void prove_survivors(std::vector<std::string>& leftovers) {
    for (auto& changed : zygotes_.prove()) leftovers.push_back(std::move(changed));
    for (const auto& fact : differences(own_evidence_, evidence_of(::getpid(), EvidenceOf::itself)))
      leftovers.push_back("agent: " + fact);
  }

  // As process 1, or as the reaper below a relay, the agent is the last parent of all that it started.
  void reap_orphans() {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    children_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    child_watch_ = loop_.watch(children_.get(), EPOLLIN, [this](std::uint32_t) {
      signalfd_siginfo info;
      while (::read(children_.get(), &info, sizeof info) > 0) {
      }
      for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG | __WALL)) > 0;) zygotes_.on_child_ended(pid);
    });
  }

  std::optional<pid_t> relay_;
  Loop loop_;
  UniqueFd children_;
  Loop::FdWatcher child_watch_;
  std::set<std::pair<uid_t, gid_t>> users_;
  std::vector<std::string> keep_;
  ProcessEvidence own_evidence_;  // of before the first program
  WriterTracker writers_;
  Zygotes zygotes_;
  Background background_;
  Egress egress_;
  SudoGate sudo_;
  ServerLink link_;
};

}  // namespace

void run_agent(std::optional<pid_t> relay) {
  ::prctl(PR_SET_NAME, "cloche-agent", 0, 0, 0);
  ::signal(SIGPIPE, SIG_IGN);
  if (::geteuid() != agent_uid) {
    std::fprintf(stderr, "cloche-agent: must be started as uid 0 of its sandbox\n");
    std::_Exit(64);
  }
  // The supplementary groups of the image's root, which no program may have, and which acting for a user would drop
  // later. If this is not allowed, acting for a user is not allowed either, and reports the error.
  [[maybe_unused]] const int dropped = ::setgroups(0, nullptr);
  forget_environment();
  // Below a relay it is not process 1. What a program leaves behind must not escape to another parent.
  if (!become_reaper()) {
    std::fprintf(stderr, "cloche-agent: must be process 1 on a kernel without subreapers\n");
    std::_Exit(71);
  }
  close_open_calls();
  Agent agent(relay);
  hide_memory();
  agent.run();
}

}  // namespace cloche::agent
