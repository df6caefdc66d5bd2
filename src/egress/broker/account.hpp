// Account: one connection or request in the books, from its decision to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "egress/books/books.hpp"
#include "egress/books/meter.hpp"
#include "egress/broker/refusal.hpp"

namespace cloche::egress {

// What went over one connection to a server. Counted by the stream that the broker connects.
struct Traffic {
  std::uint64_t up = 0;
  std::uint64_t down = 0;
  bool over_quota = false;  // the meter refused it
};

// One of `refuse` and `close` is called before it is destroyed, else the end is in the books as `failed`.
class Account {
 public:
  // `event` has what is known at once: id, tenant, where, protocol, host, port, method, path.
  Account(std::shared_ptr<Books> books, EgressEvent event);
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;
  ~Account();

  // The name of the secret, the status of the response and so on may be filled in until the end.
  EgressEvent& event() { return event_; }

  // The bytes of this connection count from now on.
  void count(std::shared_ptr<const Traffic> traffic);
  // It begins.
  void allow(std::string rule);
  bool is_allowed() const { return allowed_; }
  // It is not carried, or not any longer.
  void refuse(const Refusal& refusal);
  void close(Outcome outcome, std::string reason);
  bool is_closed() const { return closed_; }

 private:
  void add(Outcome outcome, std::string reason);

  std::shared_ptr<Books> books_;
  EgressEvent event_;
  std::shared_ptr<const Traffic> traffic_;
  Traffic before_;  // of the traffic, when this began
  Deadline::Clock::time_point began_ = Deadline::Clock::now();
  bool allowed_ = false;
  bool closed_ = false;
};

}  // namespace cloche::egress
