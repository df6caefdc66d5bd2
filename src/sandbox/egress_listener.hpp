// EgressListener: the connections that programs of a sandbox open to the outside. This process accepts them itself
// where it has listeners in the sandbox's network; elsewhere the agent accepts them and offers them over the channel.
//
// The agent's words are untrusted, and what a program meant is the program's word. An agent that repeats an id, offers
// more than it may, names an impossible host or port, names what it was not asked for or sends too many bytes along
// ends the listener with a `protocol` error.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/async/task.hpp"
#include "sandbox/inside_acceptor.hpp"
#include "sandbox/socket_connection.hpp"
#include "sandbox/tcp_connection.hpp"
#include "wire/egress_messages.hpp"

namespace cloche {

class AgentLink;
class AgentStream;
struct InsideListeners;

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
  // The same with listeners of this process. The agent must have wire::egress_level 1.
  static Task<Result<std::unique_ptr<EgressListener>>> open(AgentLink& link, EgressListenSpec spec,
                                                            InsideListeners listeners, Deadline deadline);
  ~EgressListener();

  // The next connection. A passed deadline is a `timeout` and changes nothing; any other error is final.
  Task<Result<EgressOffer>> next(Deadline deadline);
  // Turns an offer into a byte stream. not_found for an id that is not offered, or was taken or refused already.
  // Destroying the connection after finish() lets the program read what was written; without, it is reset.
  Result<std::unique_ptr<TcpConnection>> take(std::uint64_t id);
  // Resets the connection. Does nothing for an id that is not offered.
  void refuse(std::uint64_t id);

 private:
  // A connection that this process has accepted.
  struct Arrived {
    asio::ip::tcp::socket socket;
    std::string host;
    std::uint16_t port = 0;
  };

  EgressListener(AgentLink& link, std::unique_ptr<AgentStream> stream);
  Status listen(InsideListeners listeners);
  Status add_acceptor(UniqueFd listener, void (EgressListener::*arrived)(asio::ip::tcp::socket));
  void take_proxied(asio::ip::tcp::socket socket);
  void take_redirected(asio::ip::tcp::socket socket);
  void announce(Arrived arrived);
  bool has_room() const;
  void make_room();

  EgressOffer offer_arrived();
  Result<std::optional<EgressOffer>> take_message(std::string_view message);
  Result<EgressOffer> take_offer(std::string_view message);
  Status take_name(std::string_view message);
  // Nothing is accepted any more, and all connections are reset that this process has.
  void cut(const Error& why);

  AgentLink& link_;
  std::unique_ptr<AgentStream> stream_;
  // Neither taken nor refused: the socket, or the first bytes of one that the agent has.
  std::map<std::uint64_t, std::variant<std::string, asio::ip::tcp::socket>> offered_;
  std::uint64_t last_id_ = 0;

  // Where this process accepts.
  std::shared_ptr<SocketConnections> connections_;
  std::deque<Arrived> arrived_;
  std::map<std::uint32_t, std::deque<Arrived>> unnamed_;  // by the address whose name the agent was asked for
  std::size_t unnamed_count_ = 0;
  std::vector<std::unique_ptr<InsideAcceptor>> acceptors_;
};

}  // namespace cloche
