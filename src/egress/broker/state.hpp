// What a broker, a sandbox's way out and the parts that carry one connection share. Private to this folder.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "core/async/event.hpp"
#include "core/async/task_group.hpp"
#include "egress/broker/broker.hpp"
#include "egress/broker/kernel_pipe.hpp"
#include "http/server/server.hpp"

namespace cloche::egress {

struct BrokerState {
  BrokerState(Executor executor, BrokerOptions options);

  // Whether the service itself listens there.
  bool is_forbidden(const Address& address, std::uint16_t port) const;

  Executor executor;
  BrokerOptions options;
  std::shared_ptr<Resolver> resolver;
  std::shared_ptr<Totals> totals = std::make_shared<Totals>();
  std::shared_ptr<KernelPipes> pipes = std::make_shared<KernelPipes>();
  http::Server server;  // without a listener: reads requests of programs
};

struct RequestLine {
  std::string method;
  std::string path;  // without the query
};

// What a connection of a program is used for now, for a policy that changes.
struct Use {
  Destination destination;
  std::optional<Address> address;      // once it is known
  std::optional<RequestLine> request;  // if it was read
  Carriage carriage = Carriage::opaque;
  bool with_secret = false;
};

// Whether the policy still allows it.
Decision decide_again(const Policy& policy, const Use& use);

struct SandboxState;

// A connection of a program, while it is carried.
class Live {
 public:
  explicit Live(SandboxState& sandbox);
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;
  ~Live();

  // Ends it from outside: its task is cancelled.
  void end(std::string why);
  // Returns when it is cancelled too: an exception would cost more than a small request.
  Task<> wait_for_end();
  // Why it was ended; empty: it was not.
  const std::string& why_ended() const { return why_ended_; }

  // Asks the meter, once.
  OrRefusal<> admit();

  SandboxState& sandbox;
  std::optional<Use> use;

 private:
  std::list<Live*>::iterator place_;
  std::shared_ptr<void> admission_;
  bool admitted_ = false;
  std::string why_ended_;
  asio::steady_timer ended_;  // cancelled when it is
};

struct SandboxState {
  SandboxState(std::shared_ptr<BrokerState> b, SandboxEgressOptions options);

  // A new account, for a destination that was understood.
  EgressEvent event_for(Protocol protocol, const Destination& destination);
  EgressEvent event_for(Protocol protocol);

  std::shared_ptr<BrokerState> broker;
  std::string tenant;
  std::string where;
  std::shared_ptr<const Policy> policy;
  std::shared_ptr<Meter> meter;  // may be null
  std::shared_ptr<Books> books;
  bool closing = false;
  std::list<Live*> live;
  Event one_ended;
  TaskGroup tasks;
};

// Runs `work`; whatever way it ends, the account is closed: a cancellation as the program's or our end of it, an
// exception as `failed`. Passes exceptions on.
Task<> accounted(Live& live, Account& account, std::function<Task<>()> work);

}  // namespace cloche::egress
