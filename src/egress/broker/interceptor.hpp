// Interceptor: carries connections to hosts whose requests get a secret. The broker hands them over; it reads the
// requests, which are within TLS.
#pragma once

#include <memory>
#include <string_view>

#include "core/async/task.hpp"
#include "egress/broker/account.hpp"
#include "egress/policy/policy.hpp"
#include "http/stream.hpp"

namespace cloche::egress {

// One connection that the policy allows, as the interceptor sees it. It lives as long as Interceptor::serve runs.
class Intercepted {
 public:
  virtual ~Intercepted() = default;

  virtual const Destination& destination() const = 0;
  // The policy may change while the connection lives: ask again for each request.
  virtual std::shared_ptr<const Policy> policy() const = 0;

  // A plain connection to the server, at an address that the policy allows. Its bytes are counted, and a stream that
  // is over quota fails with `limit_reached`. It may be called again when the last one has ended.
  virtual Task<OrRefusal<std::unique_ptr<http::Stream>>> connect() = 0;

  // Decides about a request and counts it. Call it after connect(). The request is in the books as `allowed` or
  // refused; set secret and status in the account's event, and close the account at the end of the response.
  virtual OrRefusal<std::unique_ptr<Account>> begin_request(std::string_view method, std::string_view path) = 0;

  // How long the connection may be without any byte, and how long a head or handshake may take.
  virtual Deadline::Clock::duration idle() const = 0;
  virtual Deadline::Clock::duration head() const = 0;
};

class Interceptor {
 public:
  virtual ~Interceptor() = default;

  // `program` begins with the client hello, whose server name is the destination's. Returns when the connection has
  // ended. An error is in the books as `failed`, with its message, and must not contain the secret. It is cancelled
  // when the policy no longer allows the destination, or when the sandbox is returned.
  virtual Task<Status> serve(std::unique_ptr<http::Stream> program, Intercepted& connection) = 0;
};

}  // namespace cloche::egress
