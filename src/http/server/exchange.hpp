// Exchange: one request and its answer, as a handler sees them.
//
// A handler reads what it needs of the body, then responds once: with `respond`, in pieces with `begin`, `write` and
// `end`, or by switching to another protocol. If the client disconnects before the response is complete, the handler's
// task is cancelled, unless it called `outlive_client()`. A handler that throws or does not respond causes a 500 or, if
// the body could not be read, the status of that error. The unread rest of the body is dropped.
//
// An exchange lives as long as its handler's task. It is used from the server's thread, by one reader of the body and
// one writer of the answer at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/bytes.hpp"
#include "core/async/task.hpp"
#include "http/fields.hpp"
#include "http/server/peer.hpp"
#include "http/server/request/target.hpp"
#include "http/stream.hpp"

namespace boost::asio {
class thread_pool;  // NOLINT(readability-identifier-naming): Asio's
}

namespace cloche::http {

struct ExchangeParts;

class Exchange {
 public:
  explicit Exchange(std::unique_ptr<ExchangeParts> parts);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange();

  // The request.
  const std::string& method() const;
  const Target& target() const;
  // Of a proxy: the server that the request is for, `host` or `host:port`; empty: this one.
  const std::string& authority() const;
  // The parameters of the query. `invalid_argument` when they cannot be decoded.
  Result<Query> query() const;
  const Fields& fields() const;
  // The value of the first field with this name; empty if there is none.
  std::string_view field(std::string_view name) const;
  const Peer& peer() const;
  // The client's X-Request-Id when it is sane, else one of ours. The answer carries it, and so does the log.
  const std::string& request_id() const;

  // The body. Both fail with `limit_reached` if it is longer than allowed, `timeout` if it arrives too slowly,
  // `protocol` if its framing is broken, `unavailable` if the client disconnects. Errors are final. The first call
  // sends `100 Continue` to a client that expects it.
  bool has_body() const;
  std::optional<Bytes> announced_size() const;
  Task<Result<std::string>> read_body(Bytes most);
  // The next piece, at most 64 KiB; an empty one at the end.
  Task<Result<std::string>> read_some();
  // How long the body may be that `read_some` reads, instead of the server's own limit.
  void allow_body(Bytes most);

  // Memory. What a handler keeps of bodies, including its own response, is charged to the budgets of the server and of
  // the tenant until the exchange ends. If a budget is exhausted, it fails with `limit_reached`, and the response is
  // 429 or 503, as for a body that cannot be read. A body that is forwarded in pieces does not need this.
  void charge_to(const std::string& tenant);
  // Charges for everything that `read_some` reads from now on; if the length is known, before anything is read.
  // `read_body` does this itself.
  Status hold_body(Bytes most);
  Status hold(Bytes more);
  // Call this when the bytes read are no longer in memory and the exchange continues for a long time. Does nothing
  // after the exchange.
  std::function<void()> release_of_body() const;
  // The workers for large bodies; nullptr if the server has none and everything runs on its own thread.
  asio::thread_pool* workers() const;

  // For parsers of a body: the content cannot be used, and why. It is part of what `body_failed` reports.
  void reject_body(unsigned status, std::string why);
  // It could not be read. A handler that answers nothing leaves it to the server to say so with the status that fits.
  bool body_failed() const { return body_refusal().has_value(); }
  // The same, with the status that fits and why.
  const std::optional<RequestError>& body_refusal() const;

  // The answer. All fail with `unavailable` or `timeout` when the client is gone, which it is too when it takes nothing
  // for too long, and with `invalid_argument` when a field cannot be sent. Lengths, Date, Connection and X-Request-Id
  // are written by the server.
  Task<Status> respond(unsigned status, Fields fields, std::string body);
  // Sends an error in the form that the server was configured with.
  Task<Status> refuse(unsigned status, std::string why, Fields fields);
  Task<Status> refuse(unsigned status, std::string why) { return refuse(status, std::move(why), Fields()); }
  // Responds in pieces. `write` returns when the kernel has accepted the piece, so a slow client slows the writer down.
  // A response whose `size` is given must have that size.
  Task<Status> begin(unsigned status, Fields fields, std::optional<Bytes> size = std::nullopt);
  Task<Status> write(std::string_view piece);
  Task<Status> end();
  // The answer ends here, unfinished, for a reason that is not the handler's: what it was made from ended. The client
  // sees the connection break.
  void break_off();
  // Sends 101; `fields` contains Upgrade. The stream ends with the exchange. From now on the stream reports the end of
  // the client, and nothing is cancelled.
  Task<Result<std::unique_ptr<Stream>>> switch_protocols(Fields fields);
  // The same for CONNECT: sends 200.
  Task<Result<std::unique_ptr<Stream>>> accept_tunnel();

  // Information for the access log: the route and the caller.
  void label(std::string name, std::string value);

  bool is_answered() const;  // or at least begun
  bool client_is_gone() const;
  // The handler runs to its end even if the client is gone.
  void outlive_client();

  // True once the server shuts down. Answers without end should then come to one; the server waits for them only until
  // its deadline.
  bool server_stops() const;
  Task<> wait_until_server_stops() const;

 private:
  friend struct ExchangeAccess;
  std::unique_ptr<ExchangeParts> parts_;
};

using Handler = std::function<Task<>(Exchange&)>;

}  // namespace cloche::http
