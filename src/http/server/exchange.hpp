// Exchange: one request and its answer, as a handler sees them.
//
// A handler reads what it wants of the body, then answers once: with `respond`, in pieces with `begin`, `write` and
// `end`, or by switching to another protocol. When the client goes away before the answer is complete, the handler's
// task is cancelled, unless it said `outlive_client()`. A handler that throws or answers nothing makes a 500, or, where
// a body could not be read, the status that fits. What it left of the body is dropped.
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
#include "core/task.hpp"
#include "http/fields.hpp"
#include "http/server/peer.hpp"
#include "http/server/target.hpp"
#include "http/stream.hpp"

namespace boost::asio {
class thread_pool;
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
  // The parameters of the query. `invalid_argument` when they cannot be decoded.
  Result<Query> query() const;
  const Fields& fields() const;
  // The value of the first field of this name; empty when there is none.
  std::string_view field(std::string_view name) const;
  const Peer& peer() const;
  // The client's X-Request-Id when it is sane, else one of ours. The answer carries it, and so does the log.
  const std::string& request_id() const;

  // The body. Both fail with `limit_reached` when it is longer than allowed, `timeout` when it comes too slowly,
  // `protocol` when its framing is broken, `unavailable` when the client goes away. Errors are final. A client that
  // expects to be asked for the body is asked by the first call.
  bool has_body() const;
  std::optional<Bytes> announced_size() const;
  Task<Result<std::string>> read_body(Bytes most);
  // The next piece, at most 64 KiB; an empty one at the end.
  Task<Result<std::string>> read_some();
  // How long the body may be that `read_some` reads, instead of the server's own limit.
  void allow_body(Bytes most);

  // Memory. What a handler keeps of bodies, its own answer's among them, is taken from the server's budget and from the
  // tenant's, and given back with the exchange. Where there is none left it fails with `limit_reached`, and the answer
  // is 429 or 503 like that for a body that cannot be read. A body that is passed on in pieces needs none of this.
  void charge_to(const std::string& tenant);
  // For all that `read_some` reads from now on, before any of it is read where its length is known. `read_body` does it
  // by itself.
  Status hold_body(Bytes most);
  Status hold(Bytes more);
  // To be called once what was read is not in memory any more, where the exchange lives on for long. Does nothing after
  // the exchange.
  std::function<void()> release_of_body() const;
  // For work on large bodies; nullptr when the server has none, and all is done on its own thread.
  asio::thread_pool* workers() const;

  // For readers of one form of body: it is of no use to them, and why. Part of what `body_failed` tells of.
  void reject_body(unsigned status, std::string why);
  // It could not be read. A handler that answers nothing leaves it to the server to say so with the status that fits.
  bool body_failed() const { return body_refusal().has_value(); }
  // The same, with the status that fits and why.
  const std::optional<RequestError>& body_refusal() const;

  // The answer. All fail with `unavailable` or `timeout` when the client is gone, which it is too when it takes nothing
  // for too long, and with `invalid_argument` when a field cannot be sent. Lengths, Date, Connection and X-Request-Id
  // are written by the server.
  Task<Status> respond(unsigned status, Fields fields, std::string body);
  // An error in the form that the server was told to give them.
  Task<Status> refuse(unsigned status, std::string why, Fields fields);
  Task<Status> refuse(unsigned status, std::string why) { return refuse(status, std::move(why), Fields()); }
  // In pieces. `write` returns when the kernel has taken the piece, so a slow client slows the writer down. An answer
  // whose `size` is known before it begins must have that size.
  Task<Status> begin(unsigned status, Fields fields, std::optional<Bytes> size = std::nullopt);
  Task<Status> write(std::string_view piece);
  Task<Status> end();
  // The answer ends here, unfinished, for a reason that is not the handler's: what it was made from ended. The client
  // sees the connection break.
  void break_off();
  // Answers 101; `fields` has Upgrade in it. The stream ends with the exchange. From now on the client's end is told by
  // the stream, and cancels nothing.
  Task<Result<std::unique_ptr<Stream>>> switch_protocols(Fields fields);

  // Something that the access log should know of this request: its route, who sent it.
  void label(std::string name, std::string value);

  bool is_answered() const;  // or at least begun
  bool client_is_gone() const;
  // What the handler does is done to its end even if nobody waits for the answer any more.
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
