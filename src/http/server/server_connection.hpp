// ServerConnection: one client's connection, on which requests follow each other. Private to this folder.
#pragma once

#include <memory>

#include "http/server/exchange_parts.hpp"

namespace cloche::http {

class ServerConnection {
 public:
  ServerConnection(std::shared_ptr<ServerState> state, std::unique_ptr<Stream> stream, Peer peer, Handler handler);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  ~ServerConnection();

  // Serves until either side has enough. A cancellation cuts it short, and is not passed on.
  Task<> run();
  // The server stops: an idle connection ends, a busy one after its answer.
  void wake() { client_stream_->inflow().wake(); }

  // Ends the connection that has waited longest for a request, among those of the peer with the most connections. False
  // if all are busy.
  static bool make_room(ServerState& state);

 private:
  class Record;
  enum class Position { first, later };

  Task<> serve();
  Task<> serve_requests();
  // Ends when a client has disconnected whose handler would otherwise continue for nothing.
  Task<> watch();
  // Nothing when the connection ends without a request.
  Task<OrRequestError<std::optional<RequestHead>>> read_head(Position position);
  // True when another request may follow.
  Task<bool> serve_one(RequestHead head);
  Task<> answer_for_handler(Exchange& exchange);
  Task<> turn_down(RequestError refusal);
  // Lets the client read the last response before the connection is closed. Closing with unread bytes would cause a
  // reset, and the response could be lost.
  Task<> linger();

  std::shared_ptr<ServerState> state_;
  Peer peer_;
  Handler handler_;
  std::shared_ptr<ClientStream> client_stream_;
  std::size_t served_ = 0;
  std::optional<Deadline::Clock::time_point> waits_since_;  // for a request
  bool gives_way_ = false;                                  // to another connection
  ExchangeParts* watched_ = nullptr;
  asio::steady_timer watched_changed_;  // cancelled when it has
};

}  // namespace cloche::http
