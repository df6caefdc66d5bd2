// One request passed on to a server in a sandbox, and its answer passed back, both as they come.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "api/proxy/head.hpp"
#include "http/response_reader.hpp"
#include "http/server/exchange.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::api {

struct ProxyRules {
  std::chrono::steady_clock::duration timeout = std::chrono::seconds(60);  // of a server that neither reads nor writes
  std::chrono::steady_clock::duration idle = std::chrono::minutes(10);     // of a WebSocket
  Bytes request = mib(256);
  Bytes answer = mib(1024);
};

class ProxyExchange {
 public:
  ProxyExchange(http::Exchange& exchange, TcpConnection& connection, ProxyHead head, ProxyRules rules)
      : exchange_(exchange), connection_(connection), head_(std::move(head)), rules_(rules) {}

  // `timeout` if the server is too slow, `unavailable` if it closes the connection, `protocol` if it does not use HTTP,
  // `limit_reached` if it sends too much. After the response has begun, these errors cut it short.
  Task<Status> serve();
  // The same for a request to switch to WebSocket. Its end is the end of either side.
  Task<Status> serve_upgrade();

 private:
  Task<Status> send();
  Task<Status> send_body();
  Task<> send_or_fail(Status& failure);
  Task<Status> receive();
  // The next bytes of the server; empty at the end.
  Task<Result<std::string>> read_patiently();
  // Reads until the head of the final response is complete.
  Task<Status> receive_head();
  Task<Status> pass_body();
  void begin_reader();

  Task<Status> join(http::Stream& client);
  Task<> from_client(http::Stream& client);
  Task<> from_server(http::Stream& client);
  Task<> watch();

  void touch() { last_ = Deadline::Clock::now(); }

  http::Exchange& exchange_;
  TcpConnection& connection_;
  ProxyHead head_;
  ProxyRules rules_;
  std::unique_ptr<http::ResponseReader> reader_;
  std::string unread_;
  bool hung_up_ = false;
  Deadline::Clock::time_point last_ = Deadline::Clock::now();  // that anything moved
};

}  // namespace cloche::api
