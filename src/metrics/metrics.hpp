// Metrics for the operator's Prometheus. Events are counted as they happen; values that other parts count anyway are
// read at each scrape. Labels have few values: never a tenant, a session or a raw path.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cloche/profile.hpp"
#include "cloche/submission.hpp"
#include "http/server/server.hpp"
#include "session/store.hpp"

namespace cloche::metrics {

class Metrics {
 public:
  // Sources that are read at each scrape. Each may be null.
  struct Sources {
    std::function<std::map<std::string, PoolStats>()> pools;
    std::function<session::SessionCounts()> sessions;
    std::function<http::ServerCounts()> http;
    std::function<std::size_t()> unremoved;  // sandboxes that resist their removal
    std::function<egress::Totals()> egress;
  };

  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // `route` is the pattern that served it; empty when none did.
  void request_ended(std::string_view method, std::string_view route, unsigned status,
                     std::chrono::steady_clock::duration took);
  void run_ended(std::string_view language, Category category, Cause cause, std::chrono::microseconds wall);

  // How late the server's thread got to something that was due.
  void loop_was_late(std::chrono::steady_clock::duration by);

  void watch(Sources sources);
  // In Prometheus' text format.
  std::string text() const;

  static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cloche::metrics
