#include "agent/exec/program.hpp"

#include <fcntl.h>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "agent/exec/oom_counter.hpp"
#include "agent/exec/start_file.hpp"
#include "agent/identity.hpp"
#include "agent/link/descriptors.hpp"
#include "agent/reset/process_table.hpp"

namespace cloche::agent {

namespace {

Status validate(const wire::ExecRequest& request) {
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (request.argv.empty() || request.argv.front().empty()) return fail(ErrorCode::invalid_argument, "missing program");
  if (std::ranges::any_of(request.argv, has_nul))
    return fail(ErrorCode::invalid_argument, "an argument contains a NUL byte");
  if (std::ranges::any_of(request.env, has_nul))
    return fail(ErrorCode::invalid_argument, "a variable contains a NUL byte");
  if (request.file && has_nul(request.file->path))
    return fail(ErrorCode::invalid_argument, "the file's path contains a NUL byte");
  if (has_nul(request.cwd)) return fail(ErrorCode::invalid_argument, "the work directory contains a NUL byte");
  if (!is_allowed_user(request.uid, request.gid)) {
    return fail(ErrorCode::invalid_argument, "programs cannot run as root; uid and gid 0 are reserved for the agent");
  }
  if (request.uid == agent_uid && !request.zygote.empty())
    return fail(ErrorCode::invalid_argument, "a run from a zygote cannot run as root");
  if (request.background && request.events) return fail(ErrorCode::invalid_argument, "a background exec has no events");
  return {};
}

std::set<Program*>& living_programs() {
  static std::set<Program*> programs;
  return programs;
}

OutputCaps caps_of(std::uint64_t keep, std::uint64_t stop) {
  OutputCaps caps;
  if (keep != 0) caps.keep = keep;
  if (stop != 0) caps.stop = stop;
  return caps;
}

}  // namespace

Program::Program(Loop& loop, Events events) : loop_(loop), events_(std::move(events)) {
  living_programs().insert(this);
}

Program::~Program() { living_programs().erase(this); }

Program* Program::of_process(pid_t process) {
  std::map<pid_t, pid_t> parents;
  for (const ProcessRow& row : read_process_table()) parents[row.pid] = row.parent;
  // An orphan of a tree is a child of its supervisor, as the program itself is.
  std::map<pid_t, Program*> supervisors;
  for (Program* program : living_programs()) {
    if (const auto found = parents.find(program->pid_); found != parents.end()) {
      supervisors[program->pid_] = program;
      if (found->second != ::getpid()) supervisors[found->second] = program;
    }
  }
  for (std::size_t steps = 0; process > 0 && steps <= parents.size(); ++steps) {
    if (const auto found = supervisors.find(process); found != supervisors.end()) return found->second;
    const auto parent = parents.find(process);
    if (parent == parents.end()) break;
    process = parent->second;
  }
  return nullptr;
}

void Program::elevate(UniqueFd connection) {
  if (supervised_ && !ended_) supervised_->elevate(std::move(connection), ElevationOrder::of(rlimits_, mark_.group()));
}

Result<std::unique_ptr<Program>> Program::start(Loop& loop, Zygotes& zygotes, WriterTracker& writers,
                                                wire::ExecRequest request, Events events) {
  CLOCHE_CHECK(validate(request));
  if (request.file) CLOCHE_CHECK(write_start_file(*request.file, request.uid, request.gid));
  std::unique_ptr<Program> program(new Program(loop, std::move(events)));
  program->work_ = writers.begin();
  CLOCHE_TRY(ProgramFds fds, program->connect(request));
  if (request.events) CLOCHE_CHECK(program->connect_events(request, fds));
  program->uid_ = request.uid;
  program->rlimits_ = request.rlimits;
  if (!has_subreapers()) {
    CLOCHE_TRY(program->mark_, OrphanMark::take());
    fds.mark = program->mark_.group();
  }
  Program* self = program.get();
  SupervisedEvents supervised_events{
      .started =
          [self](pid_t pid) {
            self->pid_ = pid;
            self->events_.started(pid);
          },
      .ended = [self](Result<wire::ExecEnded> ended) { self->on_ended(std::move(ended)); },
  };
  if (request.zygote.empty()) {
    CLOCHE_TRY(program->supervised_, Supervised::fork(loop, request, fds, std::move(supervised_events)));
  } else {
    CLOCHE_TRY(program->supervised_, zygotes.fork(request, fds, std::move(supervised_events)));
  }
  program->program_in_.reset();
  program->program_out_.reset();
  program->program_err_.reset();
  program->program_event_.reset();
  return program;
}

Result<ProgramFds> Program::connect(const wire::ExecRequest& request) {
  const OutputCaps caps = caps_of(request.keep_bytes, request.stop_bytes);
  const auto taken = [this](std::size_t bytes) { events_.stdin_taken(bytes); };

  if (request.pty) {
    CLOCHE_TRY(auto terminal, open_terminal(request.uid, request.gid, *request.pty));
    terminal_.reset(::fcntl(terminal.master.get(), F_DUPFD_CLOEXEC, 0));
    UniqueFd write_side(::fcntl(terminal.master.get(), F_DUPFD_CLOEXEC, 0));
    if (!terminal_ || !write_side) return fail_errno("share the terminal");
    program_in_ = std::move(terminal.slave);
    in_ = std::make_unique<WritePump>(loop_, std::move(write_side), taken);
    out_ = output_pump(wire::lane::out, std::move(terminal.master), caps);
    const int slave = program_in_.get();
    return ProgramFds{slave, slave, slave, true};
  }

  if (request.stdin_mode == wire::StdinMode::stream) {
    CLOCHE_TRY(auto pipe, make_pipe());
    program_in_ = std::move(pipe.first);
    in_ = std::make_unique<WritePump>(loop_, std::move(pipe.second), taken);
  } else {
    program_in_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!program_in_) return fail_errno("open /dev/null");
  }
  CLOCHE_TRY(auto out, make_pipe());
  CLOCHE_TRY(auto err, make_pipe());
  program_out_ = std::move(out.second);
  program_err_ = std::move(err.second);
  out_ = output_pump(wire::lane::out, std::move(out.first), caps);
  err_ = output_pump(wire::lane::err, std::move(err.first), caps);
  return ProgramFds{program_in_.get(), program_out_.get(), program_err_.get(), false};
}

Status Program::connect_events(wire::ExecRequest& request, ProgramFds& fds) {
  CLOCHE_TRY(auto pipe, make_pipe());
  program_event_ = std::move(pipe.second);
  fds.event = program_event_.get();
  const OutputCaps caps = caps_of(request.events->keep_bytes, request.events->stop_bytes);
  event_ = event_pump(std::move(pipe.first), caps);
  const std::string variable = std::string(event_fd_variable) + "=";
  std::erase_if(request.env, [&](const std::string& entry) { return entry.starts_with(variable); });
  request.env.push_back(variable + std::to_string(event_fd));
  return {};
}

std::unique_ptr<ReadPump> Program::output_pump(std::uint8_t lane, UniqueFd fd, OutputCaps caps) {
  ReadPump::Taker taker{
      .room = [this, lane] { return events_.room(lane); },
      .bytes = [this, lane](std::string_view bytes) { events_.output(lane, bytes); },
      .end =
          [this, lane] {
            events_.output_end(lane);
            release_events();
            report_if_done();
          },
      .over_stop_cap = [this] { stop(wire::StopReason::output); },
      .after_read = [this] { release_events(); },
  };
  return std::make_unique<ReadPump>(loop_, std::move(fd), caps, std::move(taker));
}

std::unique_ptr<ReadPump> Program::event_pump(UniqueFd fd, OutputCaps caps) {
  ReadPump::Taker taker{
      .room = [this] { return held_events_.empty() ? events_.room(wire::lane::event) : 0; },
      .bytes = [this](std::string_view bytes) { hold_events(bytes); },
      .end =
          [this] {
            events_.output_end(wire::lane::event);
            report_if_done();
          },
      .over_stop_cap = [this] { stop(wire::StopReason::output); },
  };
  return std::make_unique<ReadPump>(loop_, std::move(fd), caps, std::move(taker));
}

void Program::hold_events(std::string_view bytes) {
  held_events_ = bytes;
  if (out_) out_due_ = out_->written();
  if (err_) err_due_ = err_->written();
  release_events();
}

void Program::release_events() {
  const auto has_gone = [](const std::unique_ptr<ReadPump>& pump, std::uint64_t due) {
    return !pump || pump->ended() || pump->produced() >= due;
  };
  if (held_events_.empty() || !has_gone(out_, out_due_) || !has_gone(err_, err_due_)) return;
  const std::string bytes = std::exchange(held_events_, {});
  events_.output(wire::lane::event, bytes);
  event_->resume();
}

void Program::resume(std::uint8_t lane) {
  ReadPump* pump = lane == wire::lane::out     ? out_.get()
                   : lane == wire::lane::err   ? err_.get()
                   : lane == wire::lane::event ? event_.get()
                                               : nullptr;
  if (pump != nullptr) pump->resume();
}

void Program::write_stdin(std::string_view bytes) {
  if (in_) {
    in_->write(bytes);
  } else {
    events_.stdin_taken(bytes.size());
  }
}

void Program::close_stdin() {
  // A terminal has no half-close: its end of input is a character, which is the caller's to send.
  if (in_ && !terminal_) in_->end();
}

void Program::resize(const wire::WindowSize& size) {
  if (terminal_) resize_terminal(terminal_.get(), size);
}

void Program::stop(wire::StopReason reason) {
  if (supervised_ && !ended_) supervised_->stop(reason);
}

void Program::on_ended(Result<wire::ExecEnded> ended) {
  if (mark_) {
    end_orphans(std::move(mark_), uid_);
  } else if (!ended) {
    end_tree_of_lost_supervisor(pid_);
  }
  work_ = {};
  ended_ = std::move(ended);
  if (in_) in_->abort();
  terminal_.reset();
  for (ReadPump* pump : outputs()) {
    if (pump != nullptr) pump->finish();
  }
  report_if_done();
}

void Program::report_if_done() {
  if (!ended_ || reported_) return;
  if (std::ranges::any_of(outputs(), [](ReadPump* pump) { return pump != nullptr && !pump->ended(); })) return;
  reported_ = true;
  if (*ended_) {
    wire::ExecEnded& ended = **ended_;
    if (out_) ended.out = {out_->produced(), out_->dropped()};
    if (err_) ended.err = {err_->produced(), err_->dropped()};
    if (event_) ended.events = {event_->produced(), event_->dropped()};
    ended.oom_kills = read_oom_kills();
    // A program may end by itself before it is stopped. Which of the two comes first must not decide the verdict.
    const auto is_over = [](const ReadPump* pump) { return pump != nullptr && pump->is_over_stop_cap(); };
    if (ended.stopped == wire::StopReason::none && std::ranges::any_of(outputs(), is_over)) {
      ended.stopped = wire::StopReason::output;
    }
  }
  events_.ended(std::move(*ended_));
}

}  // namespace cloche::agent
