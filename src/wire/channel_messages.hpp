// Messages between server and agent about the channel itself and about every stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/codec.hpp"

namespace cloche::wire {

// Raised when either side could no longer understand the other. Fields may be added without.
constexpr std::uint32_t protocol_version = 5;

// The features of FileRequest that an agent supports. It is raised when something is added that an older agent would
// ignore or reject as malformed; the server then reports that the agent is too old instead of sending it. 0: an agent
// from before there were levels. 1: `edit`, and the fields of FileRequest from 25 on. 2: `watch`, and those from 36 on.
// 3: `space`.
constexpr std::uint32_t file_level = 3;

// The same for EgressRequest. 1: `names_only`, and EgressAsk.
constexpr std::uint32_t egress_level = 1;

enum class ChannelKind : std::uint32_t { hello = 1, ready = 2, credit = 3, closed = 4 };

// First word of a server. Streams of an earlier server are cancelled; background execs live on.
struct Hello {
  static constexpr auto kind = ChannelKind::hello;
  static constexpr const char* name = "hello";
  std::uint32_t version = 0;
  std::string nonce;              // 16 random bytes; the answer to this very hello repeats them
  std::vector<std::string> keep;  // paths below which a reset must not wipe: the caller's own mounts
  bool root = false;              // programs and file operations may have uid 0, and `sudo` works
};
template <class Fields>
void fields(Fields& f, Hello& m) {
  f(1, m.version);
  f(2, m.nonce);
  f(3, m.keep);
  f(4, m.root);
}

struct Ready {
  static constexpr auto kind = ChannelKind::ready;
  static constexpr const char* name = "ready";
  std::uint32_t version = 0;
  std::string nonce;
  std::string build;               // checksum or version of the agent's binary, for people
  std::uint32_t background = 0;    // background execs that run or wait to be collected
  bool counts_oom_kills = false;   // the agent sees the sandbox's own memory cgroup
  std::uint32_t file_level = 0;    // of the agent; see above
  std::optional<bool> is_gvisor;   // whether that is the agent's kernel; an older agent does not say
  std::uint32_t egress_level = 0;  // of the agent; see above
};
template <class Fields>
void fields(Fields& f, Ready& m) {
  f(1, m.version);
  f(2, m.nonce);
  f(3, m.build);
  f(4, m.background);
  f(5, m.counts_oom_kills);
  f(6, m.file_level);
  f(7, m.is_gvisor);
  f(8, m.egress_level);
}

struct Credit {
  static constexpr auto kind = ChannelKind::credit;
  static constexpr const char* name = "credit";
  std::uint32_t bytes = 0;
};
template <class Fields>
void fields(Fields& f, Credit& m) {
  f(1, m.bytes);
}

// Why the agent closed a stream. The codes follow ErrorCode, whose numbers are not part of the protocol.
enum class CloseReason : std::uint32_t {
  none = 0,
  invalid_argument,
  not_found,
  already_exists,
  permission_denied,
  limit_reached,
  unsupported,
  timeout,
  cancelled,
  internal,
  last_ = internal,
};

// The last message of a stream. With a reason, the request failed and `message` contains the details.
struct Closed {
  static constexpr auto kind = ChannelKind::closed;
  static constexpr const char* name = "closed";
  CloseReason reason = CloseReason::none;
  std::string message;
};
template <class Fields>
void fields(Fields& f, Closed& m) {
  f(1, m.reason);
  f(2, m.message);
}

CloseReason close_reason_of(ErrorCode code);
ErrorCode error_code_of(CloseReason reason);

}  // namespace cloche::wire
