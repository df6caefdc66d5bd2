// Egress: the agent's part of connections to the outside. It accepts them on the sandbox's loopback and offers them to
// the server, which takes each on a stream of its own or refuses it. The agent decides nothing. Where the server
// accepts connections itself, the agent only answers questions for names.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "agent/egress/acceptor.hpp"
#include "agent/egress/name_server.hpp"
#include "agent/egress/name_table.hpp"
#include "agent/link/server_link.hpp"
#include "wire/egress_messages.hpp"

namespace cloche::agent {

// Outlives the link whose streams it makes.
class Egress {
 public:
  explicit Egress(Loop& loop) : loop_(loop) {}

  // Listens as long as the stream is open. already_exists if another one is, or if a port is in use.
  Result<std::unique_ptr<Stream>> open(ServerLink& link, wire::StreamId id, const wire::EgressRequest& request);
  // The stream of a connection that was offered; not_found if it is not, or not any more.
  Result<std::unique_ptr<Stream>> take(ServerLink& link, wire::StreamId id, const wire::EgressTakeRequest& request);

  bool is_open() const { return offers_ != nullptr; }

 private:
  class OfferStream;
  class ConnectionStream;

  using Accepted = void (Egress::*)(UniqueFd);

  Status listen(const wire::EgressRequest& request);
  Status add_acceptor(LoopbackFamily family, std::uint16_t port, Accepted accepted);
  void take_proxied(UniqueFd socket);
  void take_redirected(UniqueFd socket);
  void say_name(std::uint32_t address);
  void offer(UniqueFd socket, std::string host, std::uint16_t port);
  bool has_room() const;
  void make_room();
  // Closes the listeners and resets every connection, at once.
  void close();

  Loop& loop_;
  OfferStream* offers_ = nullptr;
  bool with_first_ = false;  // the server wants the first bytes with the offer
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, UniqueFd> pending_;
  std::set<ConnectionStream*> taken_;
  std::unique_ptr<NameTable> names_;
  std::unique_ptr<NameServer> name_server_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

}  // namespace cloche::agent
