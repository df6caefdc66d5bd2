// Program: one exec inside the agent, its descriptors and its supervisor, before it is decided where its output goes.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "agent/exec/orphans.hpp"
#include "agent/exec/pumps.hpp"
#include "agent/exec/supervised.hpp"
#include "agent/link/loop.hpp"
#include "agent/reset/writer_tracker.hpp"
#include "agent/zygote/zygotes.hpp"
#include "core/result.hpp"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

class Program {
 public:
  struct Events {
    std::function<void(pid_t)> started;
    // Room for, and bytes of, stdout (lane out), stderr (lane err) and the event descriptor (lane event).
    std::function<std::size_t(std::uint8_t lane)> room;
    std::function<void(std::uint8_t lane, std::string_view)> output;
    std::function<void(std::uint8_t lane)> output_end;
    std::function<void(std::size_t)> stdin_taken;
    // After all outputs ended: the program's tree is gone.
    std::function<void(Result<wire::ExecEnded>)> ended;
  };

  // Starts it, or says why the request makes no sense. A program that cannot be executed is an ExecEnded.
  static Result<std::unique_ptr<Program>> start(Loop& loop, Zygotes& zygotes, WriterTracker& writers,
                                                wire::ExecRequest request, Events events);

  void resume(std::uint8_t lane);
  void write_stdin(std::string_view bytes);
  void close_stdin();
  void resize(const wire::WindowSize& size);
  void signal(int number, wire::SignalTarget target) { supervised_->signal(number, target); }
  void stop(wire::StopReason reason);

  // The running program that a process belongs to, directly or through all that it started; null: none.
  static Program* of_process(pid_t process);
  // Runs a command of `sudo` as part of this program.
  void elevate(UniqueFd connection);
  ~Program();

 private:
  Program(Loop& loop, Events events);

  Result<ProgramFds> connect(const wire::ExecRequest& request);
  Status connect_events(wire::ExecRequest& request, ProgramFds& fds);
  std::array<ReadPump*, 3> outputs() const { return {out_.get(), err_.get(), event_.get()}; }
  std::unique_ptr<ReadPump> output_pump(std::uint8_t lane, UniqueFd fd, OutputCaps caps);
  std::unique_ptr<ReadPump> event_pump(UniqueFd fd, OutputCaps caps);
  void hold_events(std::string_view bytes);
  void release_events();
  void on_ended(Result<wire::ExecEnded> ended);
  void report_if_done();

  Loop& loop_;
  Events events_;
  // The program's ends, closed once it has them.
  UniqueFd program_in_;
  UniqueFd program_out_;
  UniqueFd program_err_;
  UniqueFd program_event_;
  UniqueFd terminal_;  // a master of our own for resizing
  std::unique_ptr<WritePump> in_;
  std::unique_ptr<ReadPump> out_;
  std::unique_ptr<ReadPump> err_;
  std::unique_ptr<ReadPump> event_;
  // Output that a program printed before an event is delivered before it, although they use different pipes: the event
  // waits.
  std::string held_events_;
  std::uint64_t out_due_ = 0;  // this much of stdout and of stderr is delivered first
  std::uint64_t err_due_ = 0;
  std::optional<Result<wire::ExecEnded>> ended_;
  bool reported_ = false;
  pid_t pid_ = -1;  // once it has started
  WriterTracker::Writer work_;
  OrphanMark mark_;  // if orphans cannot be identified otherwise
  uid_t uid_ = 0;
  std::vector<wire::Rlimit> rlimits_;
  std::unique_ptr<Supervised> supervised_;
};

}  // namespace cloche::agent
