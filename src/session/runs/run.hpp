// Run: one run of a session, running or ended, with its log. RunReader: a client that follows it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/async/event.hpp"
#include "session/runs/run_log.hpp"

namespace cloche::session {

enum class Unattended {
  cancelled,  // a foreground run without a reader is cancelled after a while
  goes_on,
};

struct RunInfo {
  static constexpr std::size_t longest_text = 200;

  std::string language;  // "bash" for a shell line
  std::string context;   // empty: none
  std::string text;      // the beginning of the code or command, for people
  Lifetime lifetime = Lifetime::foreground;
  Unattended unattended = Unattended::goes_on;
  std::uint64_t background_id = 0;  // that of LiveSandbox::attach
  WallTime started = std::chrono::system_clock::now();
};

// Belongs on the thread that owns all state; held by the session's Runs and by all who follow it.
class Run {
 public:
  Run(const Executor& executor, std::string id, RunInfo info, auth::QuotaTicket ticket);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const std::string& id() const { return id_; }
  const RunInfo& info() const { return info_; }
  const RunLog& log() const { return log_; }
  bool running() const { return log_.how() == nullptr; }
  WallTime started() const { return info_.started; }
  std::optional<WallTime> ended() const { return ended_; }

  // Calls it off: a foreground run ends with this error, a background program is killed. It has not ended yet when this
  // returns.
  void stop(std::string why);
  // `invalid_argument` if it has ended or the signal is invalid, `unavailable` while it has no process.
  Status signal(int number);
  // Waits until it has ended, the deadline has passed or the session is paused; true if it has ended.
  Task<bool> wait(Deadline deadline);
  // Its session is paused: it continues when that is resumed.
  bool is_paused() const { return is_paused_; }

 private:
  friend class RunTable;
  friend class RunReader;

  void add(const Output& output);
  void set_paused(bool paused);
  void finish(RunEnd how);
  void set_exec(Exec* exec);
  // Returns when it is called off.
  Task<> until_called_off(Deadline::Clock::duration unread_timeout);

  std::string id_;
  RunInfo info_;
  auth::QuotaTicket ticket_;
  std::optional<WallTime> ended_;
  RunLog log_;
  Event changed_;  // there is more in the log
  Event steered_;  // called off, or its readers came or went
  std::optional<Error> called_off_;
  bool killed_ = false;  // a background program is to be killed
  bool is_paused_ = false;
  std::uint32_t readers_ = 0;
  Deadline::Clock::time_point unread_since_ = Deadline::Clock::now();
  Exec* exec_ = nullptr;  // while there is a process
};

// As long as one exists, the run is attended.
class RunReader {
 public:
  // `invalid_argument` for a position that the log never had.
  static Result<RunReader> at(std::shared_ptr<Run> run, std::uint64_t position);
  RunReader(RunReader&&) noexcept = default;
  RunReader& operator=(RunReader&&) = delete;
  ~RunReader();

  // The next event; nullopt if there are no more, or none until the session is resumed. Waits if none is available yet.
  Task<std::optional<RunEvent>> next();
  const Run& run() const { return *run_; }

 private:
  RunReader(std::shared_ptr<Run> run, std::uint64_t position);

  std::shared_ptr<Run> run_;
  std::uint64_t position_;
};

}  // namespace cloche::session
