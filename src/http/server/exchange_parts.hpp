// The parts of an exchange, and what the connections of a server share. Private to this folder.
#pragma once

#include <set>

#include "core/async/event.hpp"
#include "http/server/answer/answer.hpp"
#include "http/server/request/body_budget.hpp"
#include "http/server/request/body_reader.hpp"
#include "http/server/server.hpp"

namespace cloche::http {

class ServerConnection;

struct ServerState {
  ServerState(Executor e, ServerOptions o, Handler h)
      : executor(std::move(e)),
        options(std::move(o)),
        handler(std::move(h)),
        budget(std::make_shared<BodyBudget>(options.limits.body_budget)),
        stopped(executor) {}

  ErrorBody error_body(unsigned status, std::string_view why, std::string_view request_id) const;
  // A whole answer, head and body, after which the connection closes.
  std::string rejection_bytes(const RequestError& refusal, std::string_view request_id) const;

  Executor executor;
  ServerOptions options;
  Handler handler;
  std::shared_ptr<BodyBudget> budget;
  ServerCounts counts;
  bool stopping = false;
  Event stopped;
  std::set<ServerConnection*> connections;
  std::map<std::string, std::size_t, std::less<>> connections_of;  // by the peer's address
  std::size_t lingering = 0;                                       // connections that are read to their end
  std::size_t large_bodies = 0;                                    // that are being read
};

struct ExchangeParts {
  ExchangeParts(ServerState& s, std::shared_ptr<ClientStream> w, RequestHead h, const Peer& p, bool is_last);

  ServerState& server;
  std::shared_ptr<ClientStream>
      shared_stream;  // a protocol that was switched to may write a little longer than its handler lives
  ClientStream& client_stream;
  RequestHead head;
  const Peer& peer;
  std::string request_id;
  bool last_of_connection;
  std::shared_ptr<BodyShare> shared_share;  // results made from a body may report when they are released
  BodyShare& share;
  BodyReader body;
  Answer answer;
  bool outlives_client = false;
  bool broken_off = false;
  Labels labels;
};

struct ExchangeAccess {
  static ExchangeParts& parts(Exchange& exchange) { return *exchange.parts_; }
};

}  // namespace cloche::http
