// Messages about execs, TCP streams, resets and zygotes between server and agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/codec.hpp"
#include "wire/file_messages.hpp"
#include "wire/requests.hpp"

namespace cloche::wire {

struct Rlimit {
  std::uint32_t resource = 0;  // RLIMIT_* as Linux numbers it
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};
template <class Fields>
void fields(Fields& f, Rlimit& m) {
  f(1, m.resource);
  f(2, m.soft);
  f(3, m.hard);
}

struct WindowSize {
  std::uint32_t rows = 24;
  std::uint32_t columns = 80;
};
template <class Fields>
void fields(Fields& f, WindowSize& m) {
  f(1, m.rows);
  f(2, m.columns);
}

// A descriptor beside stdout and stderr, whose bytes come on lane event. Its caps are its own.
struct EventLane {
  std::uint64_t keep_bytes = 0;  // what comes after is counted and dropped (0: no limit)
  std::uint64_t stop_bytes = 0;  // more ends the program (0: no limit)
};
template <class Fields>
void fields(Fields& f, EventLane& m) {
  f(1, m.keep_bytes);
  f(2, m.stop_bytes);
}

// A file that is written for a program just before it starts, as its user. There must be none of this name.
struct StartFile {
  std::string path;  // absolute
  std::string content;
};
template <class Fields>
void fields(Fields& f, StartFile& m) {
  f(1, m.path);
  f(2, m.content);
}

enum class StdinMode : std::uint32_t { closed = 0, stream = 1, last_ = stream };

// Opens a stream: lane in is stdin, lanes out and err what the program prints (a pty's all on lane out), lane event
// what it writes to the descriptor that CLOCHE_EVENT_FD names.
struct ExecRequest {
  static constexpr auto kind = RequestKind::exec;
  static constexpr const char* name = "exec";
  std::vector<std::string> argv;
  std::vector<std::string> env;  // KEY=VALUE, the whole of it
  std::string cwd;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  StdinMode stdin_mode = StdinMode::closed;
  std::optional<WindowSize> pty;
  std::uint64_t wall_ms = 0;     // 0: no limit
  std::uint64_t cpu_ms = 0;      // 0: no limit; counted over the whole tree
  std::uint64_t keep_bytes = 0;  // of each output lane; what comes after is counted and dropped
  std::uint64_t stop_bytes = 0;  // of each output lane; more ends the program (0: no limit)
  std::vector<Rlimit> rlimits;
  std::uint32_t umask = 022;
  bool background = false;          // lives on when this stream ends; its output is kept by the agent
  std::string zygote;               // name of the zygote to fork from; argv[0] is then the script
  std::optional<EventLane> events;  // not in the background: there would be no receiver
  std::optional<StartFile> file;
  // For `changes` of a tree since just before the program starts. Not in the background.
  std::optional<FileRequest> change_scan;
  // In the background: a note of the server's, which lists return.
  std::string label;
  // In the background: the output is not kept but goes to the streams that are attached, and the slowest of them slows
  // the program down. While none is attached any more, all but the last of it is dropped.
  bool is_relayed = false;
};
template <class Fields>
void fields(Fields& f, ExecRequest& m) {
  f(1, m.argv);
  f(2, m.env);
  f(3, m.cwd);
  f(4, m.uid);
  f(5, m.gid);
  f(6, m.stdin_mode);
  f(7, m.pty);
  f(8, m.wall_ms);
  f(9, m.cpu_ms);
  f(10, m.keep_bytes);
  f(11, m.stop_bytes);
  f(12, m.rlimits);
  f(13, m.umask);
  f(14, m.background);
  f(15, m.zygote);
  f(16, m.events);
  f(17, m.file);
  f(18, m.change_scan);
  f(19, m.label);
  f(20, m.is_relayed);
}

struct ExecStarted {
  static constexpr auto kind = MessageKind::exec_started;
  static constexpr const char* name = "exec_started";
  std::uint64_t exec_id = 0;
  std::uint32_t pid = 0;  // as the sandbox counts
};
template <class Fields>
void fields(Fields& f, ExecStarted& m) {
  f(1, m.exec_id);
  f(2, m.pid);
}

enum class EndKind : std::uint32_t {
  exited = 0,
  signalled = 1,
  not_started = 2,  // `error` is the errno of the step in `failed_step`
  last_ = not_started,
};

// Why the agent itself ended the program, if it did.
enum class StopReason : std::uint32_t {
  none = 0,
  wall = 1,
  cpu = 2,
  output = 3,
  cancelled = 4,
  last_ = cancelled,
};

struct LaneTotals {
  std::uint64_t produced = 0;
  std::uint64_t dropped = 0;
};
template <class Fields>
void fields(Fields& f, LaneTotals& m) {
  f(1, m.produced);
  f(2, m.dropped);
}

struct ExecEnded {
  static constexpr auto kind = MessageKind::exec_ended;
  static constexpr const char* name = "exec_ended";
  EndKind end = EndKind::exited;
  std::uint32_t exit_code = 0;
  std::uint32_t signal = 0;
  StopReason stopped = StopReason::none;
  std::uint64_t wall_us = 0;
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t peak_rss_bytes = 0;        // of the largest process of the tree
  std::optional<std::uint64_t> oom_kills;  // in this sandbox so far, if the agent knows it
  std::uint32_t error = 0;
  std::string failed_step;
  LaneTotals out;
  LaneTotals err;
  LaneTotals events;
  std::int64_t mark_ns = 0;  // where the request has a change_scan: what `since_ns` is
  std::optional<FileReply>
      changes;  // the change_scan's, all of it in one reply; where that takes longer it is to be asked for
};
template <class Fields>
void fields(Fields& f, ExecEnded& m) {
  f(1, m.end);
  f(2, m.exit_code);
  f(3, m.signal);
  f(4, m.stopped);
  f(5, m.wall_us);
  f(6, m.user_us);
  f(7, m.system_us);
  f(8, m.peak_rss_bytes);
  f(9, m.oom_kills);
  f(10, m.error);
  f(11, m.failed_step);
  f(12, m.out);
  f(13, m.err);
  f(14, m.events);
  f(15, m.mark_ns);
  f(16, m.changes);
}

enum class SignalTarget : std::uint32_t { group = 0, program = 1, tree = 2, last_ = tree };

struct ExecSignal {
  static constexpr auto kind = MessageKind::exec_signal;
  static constexpr const char* name = "exec_signal";
  std::uint32_t signal = 0;
  SignalTarget target = SignalTarget::group;
};
template <class Fields>
void fields(Fields& f, ExecSignal& m) {
  f(1, m.signal);
  f(2, m.target);
}

struct ExecResize {
  static constexpr auto kind = MessageKind::exec_resize;
  static constexpr const char* name = "exec_resize";
  WindowSize size;
};
template <class Fields>
void fields(Fields& f, ExecResize& m) {
  f(1, m.size);
}

// Background execs: those that run, and those that ended and were not collected yet.
struct ExecListRequest {
  static constexpr auto kind = RequestKind::exec_list;
  static constexpr const char* name = "exec_list";
};
template <class Fields>
void fields(Fields&, ExecListRequest&) {}

struct ExecEntry {
  std::uint64_t exec_id = 0;
  std::uint32_t pid = 0;
  std::vector<std::string> argv;
  bool running = false;
  std::uint64_t age_ms = 0;
  std::string label;  // of its request
};
template <class Fields>
void fields(Fields& f, ExecEntry& m) {
  f(1, m.exec_id);
  f(2, m.pid);
  f(3, m.argv);
  f(4, m.running);
  f(5, m.age_ms);
  f(6, m.label);
}

struct ExecList {
  static constexpr auto kind = MessageKind::exec_list;
  static constexpr const char* name = "exec_list";
  std::vector<ExecEntry> execs;
};
template <class Fields>
void fields(Fields& f, ExecList& m) {
  f(1, m.execs);
}

// Opens a stream onto a background exec: its kept output from the offsets on, signals, then ExecEnded when it ends.
// Any number may be attached at a time. Cancelling the stream detaches; `collect` forgets the exec once it has ended.
struct ExecAttachRequest {
  static constexpr auto kind = RequestKind::exec_attach;
  static constexpr const char* name = "exec_attach";
  std::uint64_t exec_id = 0;
  std::uint64_t out_offset = 0;
  std::uint64_t err_offset = 0;
  bool collect = false;
};
template <class Fields>
void fields(Fields& f, ExecAttachRequest& m) {
  f(1, m.exec_id);
  f(2, m.out_offset);
  f(3, m.err_offset);
  f(4, m.collect);
}

// Opens a stream to a port of the sandbox's loopback interface: lane in is sent there, lane out comes back.
struct TcpRequest {
  static constexpr auto kind = RequestKind::tcp;
  static constexpr const char* name = "tcp";
  std::uint32_t port = 0;
};
template <class Fields>
void fields(Fields& f, TcpRequest& m) {
  f(1, m.port);
}

struct TcpConnected {
  static constexpr auto kind = MessageKind::tcp_connected;
  static constexpr const char* name = "tcp_connected";
};
template <class Fields>
void fields(Fields&, TcpConnected&) {}

// Ends every process but the agent and its zygotes, empties every writable place, removes all ipc, then looks again.
struct ResetRequest {
  static constexpr auto kind = RequestKind::reset;
  static constexpr const char* name = "reset";
};
template <class Fields>
void fields(Fields&, ResetRequest&) {}

struct ResetReport {
  static constexpr auto kind = MessageKind::reset_report;
  static constexpr const char* name = "reset_report";
  std::vector<std::string> leftovers;  // empty: proved clean
  std::uint32_t killed = 0;
  std::uint64_t removed = 0;
};
template <class Fields>
void fields(Fields& f, ResetReport& m) {
  f(1, m.leftovers);
  f(2, m.killed);
  f(3, m.removed);
}

// Starts a zygote; the stream closes when it is ready.
struct ZygoteRequest {
  static constexpr auto kind = RequestKind::zygote;
  static constexpr const char* name = "zygote";
  std::string zygote;                // its name; starting a name again replaces it
  std::string interpreter;           // a Python 3 of the sandbox
  std::vector<std::string> imports;  // modules imported before the first fork
  std::string harness;               // source of a module; its function run() then gets every fork, in a script's place
  std::vector<std::string> env;      // KEY=VALUE, in addition to the usual ones
};
template <class Fields>
void fields(Fields& f, ZygoteRequest& m) {
  f(1, m.zygote);
  f(2, m.interpreter);
  f(3, m.imports);
  f(4, m.harness);
  f(5, m.env);
}

}  // namespace cloche::wire
