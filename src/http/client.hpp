// Client: HTTP/1.1 requests to one endpoint, in coroutines. Connections are kept and used again.
//
// Every step ends by the deadline. Errors: `unavailable` if the server cannot be reached or closes the connection,
// `timeout`, `protocol` if it does not use HTTP, `limit_reached` if it sends too much. A response with an error status
// is a response, not an error. A cancelled task throws, and its connection is closed.
#pragma once

#include <memory>

#include "http/endpoint.hpp"
#include "http/message.hpp"

namespace cloche::http {

// A response whose body is read as it comes. Whatever is not read when the object goes away closes the connection.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;

  // Status and fields.
  virtual const Response& head() const = 0;
  // The next piece of the body; empty at its end. One reader at a time.
  virtual Task<Result<std::string>> next(Deadline deadline) = 0;
  // Ends a pending next() with the error `cancelled`.
  virtual void close() = 0;
};

class Client {
 public:
  Client(Executor executor, Endpoint endpoint);
  ~Client();

  const Endpoint& endpoint() const;

  // The whole response, its body in memory.
  Task<Result<Response>> send(Request request, Deadline deadline);

  // Hands the body to `sink` piece by piece if the status says success; else the body is in the response.
  Task<Result<Response>> stream(Request request, BodySink sink, Deadline deadline);

  // The response's head, whatever its status, and its body to be read.
  Task<Result<std::unique_ptr<ResponseStream>>> open(Request request, Deadline deadline);

  // Asks to switch to `protocol`. The server agrees by 101, or by a plain 200 without a length, as Docker engines did
  // once; then the connection is the caller's.
  Task<Result<Upgrade>> upgrade(Request request, std::string protocol, Deadline deadline);

 private:
  struct Impl;
  class Body;
  // Shared, so that a request that outlives the client still has its pool.
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche::http
