// SandboxEgress: the way out of one sandbox, while it is lent.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/async/task.hpp"
#include "egress/books/books.hpp"
#include "egress/books/meter.hpp"
#include "egress/policy/policy.hpp"
#include "http/stream.hpp"

namespace cloche {
class EgressListener;
}

namespace cloche::egress {

struct BrokerState;

struct SandboxEgressOptions {
  std::string tenant;
  std::string where;  // session, lease or run, for the books
  Policy policy;
  std::shared_ptr<Meter> meter;  // none: no quota
  std::shared_ptr<Books> books;  // of an earlier way out of the same session; none: new ones
};

class SandboxEgress {
 public:
  // See Broker::open.
  SandboxEgress(std::shared_ptr<BrokerState> broker, SandboxEgressOptions options);
  SandboxEgress(const SandboxEgress&) = delete;
  SandboxEgress& operator=(const SandboxEgress&) = delete;
  // After close().
  ~SandboxEgress();

  // From now on. Connections that the new policy refuses are ended.
  void set_policy(Policy policy);
  const Policy& policy() const;

  Books& books();
  // They may outlive this, for readers.
  std::shared_ptr<Books> shared_books();

  // Carries one connection of a program until it ends. `meant`: where a program that uses no proxy wanted to connect
  // to; none: a client of the proxy, HTTP or SOCKS5. Throws only when it is cancelled.
  Task<> serve(std::unique_ptr<http::Stream> program, std::optional<Destination> meant);
  // Carries what the sandbox's agent offers, until the listener ends. Throws only when it is cancelled.
  Task<> run(EgressListener& listener);

  // Ends all connections, waits for their end and closes the books. Not cancellable.
  Task<> close();

  // The environment variables by which clients find the proxy on this port of the sandbox's loopback.
  static std::map<std::string, std::string> proxy_variables(std::uint16_t port);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche::egress
