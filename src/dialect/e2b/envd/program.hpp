// Program: one process of a sandbox that a client started, while it runs and for a while afterwards. Follower: a client
// that reads its output.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <variant>

#include "auth/quotas.hpp"
#include "core/async/event.hpp"
#include "core/async/gate.hpp"
#include "dialect/e2b/envd/process_messages.hpp"
#include "sandbox/exec.hpp"
#include "session/session.hpp"

namespace cloche::dialect::e2b {

class Follower;

// What a program counts as while it runs.
struct ProgramHold {
  auth::QuotaTicket ticket;     // among the tenant's runs
  session::SessionPlace place;  // among the session's
};

// Belongs on the thread that owns all state; held by the session's Processes and by all who use it.
class Program {
 public:
  Program(const Executor& executor, ProcessInfo info, ProgramHold hold);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const ProcessInfo& info() const { return info_; }
  bool running() const { return !end_; }
  // When it ended, by the clock of deadlines.
  std::optional<Deadline::Clock::time_point> ended_at() const { return ended_at_; }
  // Output that no client was there to read.
  Bytes dropped() const { return dropped_; }

  Task<connect::Reply<>> write(ProcessInput input, Deadline deadline);
  connect::Reply<> close_stdin();
  connect::Reply<> resize(TerminalSize size);
  connect::Reply<> signal(int number);

 private:
  friend class Processes;
  friend class Follower;

  // The way to the process; while there is none, input waits for it.
  void set_exec(std::shared_ptr<Exec> exec);
  // Waits until all followers have room, then gives each a copy.
  Task<> deliver(Output output);
  void finish(Result<Outcome> how);
  connect::Reply<std::shared_ptr<Exec>> process() const;

  ProcessInfo info_;
  ProgramHold hold_;
  std::shared_ptr<Exec> exec_;
  std::list<Follower*> followers_;
  Event changed_;  // its end, or more or less in the queue of a follower
  Gate input_;     // one client writes at a time
  std::optional<Result<Outcome>> end_;
  std::optional<Deadline::Clock::time_point> ended_at_;
  Bytes dropped_;
};

// Gets all output from its beginning on. While it does not take what is queued for it, the program waits.
class Follower {
 public:
  explicit Follower(std::shared_ptr<Program> program);
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  ~Follower();

  struct Quiet {};  // the deadline has passed
  // Output, then how the program ended; an error if that will not be known, because the sandbox is gone.
  using Next = std::variant<Output, Result<Outcome>, Quiet>;
  Task<Next> next(Deadline deadline);

  const Program& program() const { return *program_; }

 private:
  friend class Program;

  std::shared_ptr<Program> program_;
  std::deque<Output> queue_;
  std::size_t queued_ = 0;  // bytes
};

}  // namespace cloche::dialect::e2b
