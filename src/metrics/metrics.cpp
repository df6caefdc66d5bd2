#include "metrics/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>

#include "core/async/exceptions.hpp"
#include "metrics/snapshots.hpp"

namespace cloche::metrics {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;

// Seconds, from a warm call to a long run.
const Histogram::BucketBoundaries latencies{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                            0.5,   1,      2.5,   5,    10,    30,   60,  300};

// Seconds, from what is usual to what callers notice.
const Histogram::BucketBoundaries lags{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5};

// Callers make up methods; labels must not.
std::string method_label(std::string_view method) {
  constexpr std::array<std::string_view, 7> known{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"};
  return std::find(known.begin(), known.end(), method) == known.end() ? "other" : std::string(method);
}

}  // namespace

struct Metrics::State {
  prometheus::Registry registry;
  Sources sources;
  Family<Counter>& requests = BuildCounter()
                                  .Name("cloche_http_requests_total")
                                  .Help("Requests answered, by route and status.")
                                  .Register(registry);
  Family<Histogram>& request_seconds = BuildHistogram()
                                           .Name("cloche_http_request_seconds")
                                           .Help("Time from the head of a request to the end of its response.")
                                           .Register(registry);
  Family<Counter>& runs =
      BuildCounter().Name("cloche_runs_total").Help("Programs run, by language and outcome.").Register(registry);
  Family<Histogram>& run_seconds =
      BuildHistogram().Name("cloche_run_seconds").Help("Wall-clock time of programs, by language.").Register(registry);
  Histogram& loop_lag = BuildHistogram()
                            .Name("cloche_loop_lag_seconds")
                            .Help("Scheduling delay of the server's event loop.")
                            .Register(registry)
                            .Add({}, lags);
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

void Metrics::request_ended(std::string_view method, std::string_view route, unsigned status,
                            std::chrono::steady_clock::duration took) {
  const std::string path = route.empty() ? "none" : std::string(route);
  const std::string verb = method_label(method);
  state_->requests.Add({{"method", verb}, {"route", path}, {"status", std::to_string(status)}}).Increment();
  state_->request_seconds.Add({{"method", verb}, {"route", path}}, latencies)
      .Observe(std::chrono::duration<double>(took).count());
}

void Metrics::run_ended(std::string_view language, Category category, Cause cause, std::chrono::microseconds wall) {
  const std::string name(language);
  state_->runs
      .Add({{"language", name},
            {"category", std::string(to_string(category))},
            {"cause", std::string(to_string(cause))}})
      .Increment();
  state_->run_seconds.Add({{"language", name}}, latencies).Observe(std::chrono::duration<double>(wall).count());
}

void Metrics::loop_was_late(std::chrono::steady_clock::duration by) {
  state_->loop_lag.Observe(std::chrono::duration<double>(by).count());
}

void Metrics::watch(Sources sources) { state_->sources = std::move(sources); }

std::string Metrics::text() const {
  std::vector<prometheus::MetricFamily> all = state_->registry.Collect();
  const Sources& sources = state_->sources;
  if (sources.pools) add_pools(all, sources.pools());
  if (sources.sessions) add_sessions(all, sources.sessions());
  if (sources.http) add_http(all, sources.http());
  if (sources.unremoved) add_unremoved(all, sources.unremoved());
  if (sources.egress) add_egress(all, sources.egress());
  add_internal_errors(all, internal_errors());
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace cloche::metrics
