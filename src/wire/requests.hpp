// Kinds of requests that open a stream, and of the messages that then travel on it.
#pragma once

#include <cstdint>

namespace cloche::wire {

// First varint of an `open` frame's payload.
enum class RequestKind : std::uint32_t {
  exec = 1,         // ExecRequest
  exec_list = 2,    // ExecListRequest
  exec_attach = 3,  // ExecAttachRequest
  file = 4,         // FileRequest
  tcp = 5,          // TcpRequest
  reset = 6,        // ResetRequest
  zygote = 7,       // ZygoteRequest
  egress = 8,       // EgressRequest
  egress_take = 9,  // EgressTakeRequest
};

// First varint of a `message` frame's payload.
enum class MessageKind : std::uint32_t {
  exec_started = 1,      // agent to server
  exec_ended = 2,        // agent to server
  exec_signal = 3,       // server to agent
  exec_resize = 4,       // server to agent
  exec_list = 5,         // agent to server
  file_reply = 6,        // agent to server
  reset_report = 7,      // agent to server
  tcp_connected = 8,     // agent to server
  egress_listening = 9,  // agent to server
  egress_offer = 10,     // agent to server
  egress_refuse = 11,    // server to agent
  egress_ask = 12,       // server to agent
  egress_name = 13,      // agent to server
};

}  // namespace cloche::wire
