// Request and Response of an HTTP client, as its callers see them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/async/task.hpp"
#include "core/bytes.hpp"
#include "http/fields.hpp"
#include "http/stream.hpp"

namespace cloche::http {

// The next piece of a request's body; an empty one ends it. An error ends the exchange with that error.
using BodySource = std::function<Task<Result<std::string>>()>;
// Takes a piece of a response's body. An error ends the exchange with that error.
using BodySink = std::function<Task<Status>(std::string_view piece)>;

struct Request {
  std::string method;
  std::string target;  // path and query, percent-encoded by the caller
  Fields fields;       // beyond Host, Connection and the body's length, which the client writes itself
  std::string body;
  BodySource source;  // instead of `body`: sent in chunks as it comes

  Bytes body_limit = mib(8);                                              // of the response's body
  Deadline::Clock::duration patience = Deadline::Clock::duration::max();  // longest silence of the server
};

struct Response {
  unsigned status = 0;
  std::string reason;
  Fields fields;
  std::string body;

  bool success() const { return status >= 200 && status < 300; }
  // The value of the first field with this name, case-insensitive; empty if there is none.
  std::string_view field(std::string_view name) const { return field_value(fields, name); }
};

// The response of a server to a request to switch protocols.
struct Upgrade {
  Response response;
  std::unique_ptr<Stream> stream;  // none when the server refused
  std::string read_ahead;          // the first bytes of the stream, which came together with the head
};

// The head of a request as it is sent. `invalid_argument` if a part would break out of its line.
Result<std::string> serialise_head(const Request& request, std::string_view host, std::string_view connection);

}  // namespace cloche::http
