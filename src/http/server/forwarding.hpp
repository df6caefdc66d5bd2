// Forwarding: one request of an exchange passed on to a server, and its response passed back, both as they come.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/response_reader.hpp"
#include "http/server/exchange.hpp"

namespace cloche::http {

struct ForwardRules {
  std::chrono::steady_clock::duration timeout = std::chrono::seconds(60);  // of a server that neither reads nor writes
  std::chrono::steady_clock::duration idle = std::chrono::minutes(10);     // of a protocol that was switched to
  Bytes request = mib(256);
  Bytes response = mib(1024);
};

// The request as the server gets it.
struct ForwardedRequest {
  std::string head;  // with the framing that follows
  bool has_body = false;
  std::optional<std::uint64_t> length;  // of the body; none: in chunks
  bool upgrades = false;                // asks to switch to another protocol
};

struct ForwardHooks {
  // The fields of the response as the client gets them. An error ends the exchange with it.
  std::function<Result<Fields>(const Response& head)> fields;
  // The same for a 101.
  std::function<Result<Fields>(const Response& head)> upgrade_fields;
  // Changes the bytes of the response's body, or of the protocol that was switched to; `last`: no more will come. It
  // may keep bytes back until then.
  std::function<std::string(std::string_view piece, bool last)> change_body;
  // change_body returns as many bytes as it gets. Otherwise the length of a body that it changes is not announced.
  bool keeps_length = false;
};

class Forwarding {
 public:
  Forwarding(Exchange& exchange, Stream& server, ForwardedRequest request, ForwardRules rules, ForwardHooks hooks)
      : exchange_(exchange), server_(server), request_(std::move(request)), rules_(rules), hooks_(std::move(hooks)) {}

  // `timeout` if the server is too slow, `unavailable` if it closes the connection, `protocol` if it does not use HTTP,
  // `limit_reached` if it sends too much. After the response has begun, these errors cut it short. A request that
  // upgrades continues until either side ends.
  Task<Status> serve();

  // Of the response; 0 if there was none.
  unsigned status() const { return status_; }
  // Whether any byte came from the server.
  bool server_responded() const { return server_responded_; }
  // Whether another request can follow on the same connection.
  bool server_can_be_reused() { return reusable_ && server_.is_quiet(); }

 private:
  Task<Status> exchange_messages();
  Task<Status> send();
  Task<Status> send_body();
  Task<> send_or_fail(Status& failure);
  Task<Status> receive();
  Task<Status> receive_head();
  Task<Status> pass_body();
  Task<Status> pass_piece(std::string_view piece, bool last);
  // False at the end.
  Task<Result<bool>> read_more();
  void begin_reader();
  bool is_head() const { return exchange_.method() == "HEAD"; }

  Task<Status> serve_upgrade();
  Task<Status> from_client(Stream& client);
  Task<Status> from_server(Stream& client);
  // Ends when nothing was transferred for so long.
  Task<> watch(std::chrono::steady_clock::duration most);

  void touch() { last_ = Deadline::Clock::now(); }

  Exchange& exchange_;
  Stream& server_;
  ForwardedRequest request_;
  ForwardRules rules_;
  ForwardHooks hooks_;
  std::unique_ptr<ResponseReader> reader_;
  std::string unread_;
  unsigned status_ = 0;
  bool server_responded_ = false;
  bool sent_ = false;
  bool hung_up_ = false;
  bool reusable_ = false;
  Deadline::Clock::time_point last_ = Deadline::Clock::now();  // that anything moved
};

}  // namespace cloche::http
