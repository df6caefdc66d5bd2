// EgressListener: the connections that programs of a sandbox open to the outside, as its agent accepts them.
//
// The agent's words are untrusted, and what a program meant is the program's word. An agent that repeats an id, offers
// more than it may, names an impossible host or port or sends too many bytes along ends the listener with a `protocol`
// error.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/async/task.hpp"
#include "sandbox/tcp_connection.hpp"
#include "wire/egress_messages.hpp"

namespace cloche {

class AgentLink;
class AgentStream;

struct EgressListenSpec {
  std::uint16_t proxy_port = wire::usual_proxy_port;  // of the sandbox's loopback
  // Also connections of programs that use no proxy. Only where LiveSandbox::has_transparent_egress().
  bool transparent = false;
};

struct EgressOffer {
  std::uint64_t id = 0;
  std::string host;        // the name or address that the program meant; empty: it is a client of the proxy
  std::uint16_t port = 0;  // 0 where the host is empty
};

// Destroying it closes the sandbox's listeners and resets all connections, taken or not. It must not outlive its
// sandbox's LiveSandbox; the connections may.
class EgressListener {
 public:
  // See LiveSandbox::open_egress.
  static Task<Result<std::unique_ptr<EgressListener>>> open(AgentLink& link, EgressListenSpec spec, Deadline deadline);
  ~EgressListener();

  // The next connection. A passed deadline is a `timeout` and changes nothing; any other error is final.
  Task<Result<EgressOffer>> next(Deadline deadline);
  // Turns an offer into a byte stream. not_found for an id that is not offered, or was taken or refused already.
  // Destroying the connection after finish() lets the program read what was written; without, it is reset.
  Result<std::unique_ptr<TcpConnection>> take(std::uint64_t id);
  // Resets the connection. Does nothing for an id that is not offered.
  void refuse(std::uint64_t id);

 private:
  EgressListener(AgentLink& link, std::unique_ptr<AgentStream> stream);

  AgentLink& link_;
  std::unique_ptr<AgentStream> stream_;
  std::map<std::uint64_t, std::string> offered_;  // neither taken nor refused, with their first bytes
  std::uint64_t last_id_ = 0;
};

}  // namespace cloche
