// Broker: carries the connections of sandboxes to the outside. One for a service or a library's manager.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/async/task.hpp"
#include "egress/books/books.hpp"
#include "egress/broker/interceptor.hpp"
#include "egress/broker/sandbox_egress.hpp"
#include "egress/broker/upstream_proxy.hpp"
#include "egress/resolve/resolver.hpp"

namespace cloche::egress {

// A place that no policy opens: where the service itself listens.
struct ForbiddenPlace {
  Address address;  // unspecified (`0.0.0.0`, `::`): every address of this host
  std::uint16_t port = 0;
};

struct BrokerOptions {
  using Span = std::chrono::steady_clock::duration;

  std::size_t connections = 256;            // of programs, in one sandbox, at a time
  Span resolve = std::chrono::seconds(5);   // a name
  Span connect = std::chrono::seconds(10);  // to all addresses of a name together
  Span head = std::chrono::seconds(10);     // for a request's head, a SOCKS request or a client hello to arrive
  Span idle = std::chrono::minutes(5);      // of a connection on which nothing is transferred
  std::size_t kept_events = 1000;           // of one sandbox
  std::optional<UpstreamProxy> upstream;
  std::vector<ForbiddenPlace> forbidden;
  std::shared_ptr<Resolver> resolver;        // none: the host's
  std::shared_ptr<Interceptor> interceptor;  // none: connections that need one are refused
  Books::Watcher watcher;                    // of all events, for the log
};

class Broker {
 public:
  Broker(Executor executor, BrokerOptions options);
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  // After every SandboxEgress was closed.
  ~Broker();

  // The way out of one sandbox. Close it before it is destroyed.
  std::shared_ptr<SandboxEgress> open(SandboxEgressOptions options);

  // In addition to the options': once the service knows where it listens.
  void forbid(ForbiddenPlace place);

  const Totals& totals() const;

 private:
  std::shared_ptr<struct BrokerState> state_;
};

}  // namespace cloche::egress
