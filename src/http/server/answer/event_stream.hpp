// EventStream: an answer that is a stream of events, with a heartbeat while nothing happens.
#pragma once

#include <chrono>
#include <functional>

#include "core/async/event.hpp"
#include "http/server/answer/server_event.hpp"
#include "http/server/exchange.hpp"

namespace cloche::http {

class EventStream {
 public:
  explicit EventStream(Exchange& exchange, const Executor& executor) : exchange_(exchange), free_(executor) {}

  // Returns when the kernel has taken the event. One caller at a time.
  Task<Status> send(ServerEvent event);

 private:
  friend Task<Status> serve_events(Exchange&, std::function<Task<Status>(EventStream&)>,
                                   std::chrono::steady_clock::duration);
  // Beats whenever nothing was sent for so long, until the client is gone.
  Task<> beat(std::chrono::steady_clock::duration every);
  // Waits for another's write to end: a heartbeat may be on its way.
  Task<Status> write(std::string bytes);

  Exchange& exchange_;
  Event free_;
  bool writing_ = false;
  std::uint64_t sent_ = 0;
};

// Answers 200 with the events that `body` sends, and ends the answer when it returns without error. A heartbeat shows
// clients and proxies that the line is alive, and the server that the client is.
Task<Status> serve_events(Exchange& exchange, std::function<Task<Status>(EventStream&)> body,
                          std::chrono::steady_clock::duration heartbeat_every = std::chrono::seconds(15));

}  // namespace cloche::http
