#include "metrics/snapshots.hpp"

#include <limits>

namespace cloche::metrics {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Sample {
  std::vector<ClientMetric::Label> labels;
  double value = 0;
};

void add_gauge(Families& families, const char* name, const char* help, const std::vector<Sample>& samples) {
  MetricFamily family{name, help, MetricType::Gauge, {}};
  for (const Sample& sample : samples) {
    ClientMetric metric;
    metric.label = sample.labels;
    metric.gauge.value = sample.value;
    family.metric.push_back(std::move(metric));
  }
  families.push_back(std::move(family));
}

void add_counter(Families& families, const char* name, const char* help, const std::vector<Sample>& samples) {
  MetricFamily family{name, help, MetricType::Counter, {}};
  for (const Sample& sample : samples) {
    ClientMetric metric;
    metric.label = sample.labels;
    metric.counter.value = sample.value;
    family.metric.push_back(std::move(metric));
  }
  families.push_back(std::move(family));
}

Sample of_pool(const std::string& profile, double value) { return {{{"profile", profile}}, value}; }

ClientMetric histogram_of(const std::string& profile, const LatencyHistogram& latency) {
  ClientMetric metric;
  metric.label = {{"profile", profile}};
  metric.histogram.sample_count = latency.count;
  metric.histogram.sample_sum = std::chrono::duration<double>(latency.sum).count();
  std::uint64_t below = 0;
  for (int i = 0; i < LatencyHistogram::buckets; ++i) {
    below += latency.counts[i];
    const bool last = i + 1 == LatencyHistogram::buckets;
    const double bound =
        std::chrono::duration<double>(LatencyHistogram::first_bound).count() * static_cast<double>(1U << i);
    metric.histogram.bucket.push_back({below, last ? std::numeric_limits<double>::infinity() : bound});
  }
  return metric;
}

}  // namespace

void add_pools(Families& families, const std::map<std::string, PoolStats>& pools) {
  std::vector<Sample> sandboxes;
  std::vector<Sample> limits;
  std::vector<Sample> waiting;
  std::vector<Sample> claims;
  std::vector<Sample> events;
  MetricFamily latency{"cloche_pool_claim_seconds", "Time from a claim to its sandbox.", MetricType::Histogram, {}};
  for (const auto& [name, stats] : pools) {
    const auto in_state = [&](const char* state, std::uint32_t count) {
      sandboxes.push_back({{{"profile", name}, {"state", state}}, static_cast<double>(count)});
    };
    in_state("idle", stats.idle);
    in_state("lent", stats.active);
    in_state("making", stats.making);
    in_state("resetting", stats.resetting);
    in_state("removing", stats.removing);
    limits.push_back(of_pool(name, stats.scale_limit));
    waiting.push_back(of_pool(name, stats.waiting));
    claims.push_back({{{"profile", name}, {"result", "served"}}, static_cast<double>(stats.claims)});
    claims.push_back({{{"profile", name}, {"result", "refused"}}, static_cast<double>(stats.refused)});
    const auto happened = [&](const char* event, std::uint64_t count) {
      events.push_back({{{"profile", name}, {"event", event}}, static_cast<double>(count)});
    };
    happened("created", stats.created);
    happened("create_failed", stats.create_failures);
    happened("destroyed", stats.destroyed);
    happened("reset", stats.resets);
    happened("reset_failed", stats.resets_failed);
    happened("revoked", stats.revoked);
    happened("lost", stats.lost);
    happened("unanswered", stats.unanswered);
    latency.metric.push_back(histogram_of(name, stats.claim_latency));
  }
  add_gauge(families, "cloche_pool_sandboxes", "Sandboxes of a pool, by state.", sandboxes);
  add_gauge(families, "cloche_pool_limit", "Maximum number of sandboxes of a pool.", limits);
  add_gauge(families, "cloche_pool_waiting", "Claims waiting in a pool's queue.", waiting);
  add_counter(families, "cloche_pool_claims_total", "Claims, by result.", claims);
  add_counter(families, "cloche_pool_events_total", "Events in the life of a pool's sandboxes.", events);
  families.push_back(std::move(latency));
}

void add_sessions(Families& families, const session::SessionCounts& counts) {
  const auto number = [](auto count) { return static_cast<double>(count); };
  add_gauge(families, "cloche_sessions", "Sessions, by state.",
            {{{{"state", "live"}}, number(counts.live - counts.paused)},
             {{{"state", "paused"}}, number(counts.paused)},
             {{{"state", "lost"}}, number(counts.lost)}});
  add_counter(families, "cloche_sessions_made_total", "Sessions created.", {{{}, number(counts.made)}});
  add_counter(families, "cloche_sessions_ended_total", "Sessions that ended.", {{{}, number(counts.ended)}});
  add_counter(families, "cloche_sessions_idled_out_total",
              "Sessions ended because they were idle or paused for too long.", {{{}, number(counts.idled_out)}});
}

void add_http(Families& families, const http::ServerCounts& counts) {
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  add_gauge(families, "cloche_http_connections", "Open connections.", {{{}, number(counts.open_connections)}});
  add_gauge(families, "cloche_http_requests_in_flight", "Requests in flight.",
            {{{}, number(counts.requests_in_flight)}});
  add_counter(families, "cloche_http_connections_total", "Connections accepted.", {{{}, number(counts.connections)}});
  add_counter(families, "cloche_http_connections_refused_total", "Connections refused because of the connection limit.",
              {{{}, number(counts.refused_connections)}});
  add_counter(families, "cloche_http_clients_gone_total", "Clients that disconnected before the end of their response.",
              {{{}, number(counts.clients_gone)}});
  add_gauge(families, "cloche_http_body_bytes_held",
            "Bytes of request bodies in memory, counted against the body budget.",
            {{{}, number(counts.body_bytes_held)}});
  add_counter(families, "cloche_http_bodies_refused_total",
              "Request bodies refused because the body budget was exhausted.", {{{}, number(counts.bodies_refused)}});
  add_counter(families, "cloche_http_bytes_total", "Bytes sent and received over the network.",
              {{{{"direction", "in"}}, number(counts.bytes_in)}, {{{"direction", "out"}}, number(counts.bytes_out)}});
}

void add_unremoved(Families& families, std::size_t sandboxes) {
  add_gauge(families, "cloche_sandboxes_unremoved", "Sandboxes that could not be removed so far.",
            {{{}, static_cast<double>(sandboxes)}});
}

void add_egress(Families& families, const egress::Totals& totals) {
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  add_gauge(families, "cloche_egress_connections", "Connections of programs to the outside.",
            {{{}, number(totals.open)}});
  add_counter(families, "cloche_egress_connections_total", "Connections of programs that were allowed.",
              {{{}, number(totals.connections)}});
  add_counter(families, "cloche_egress_requests_total", "Requests of programs that were read and allowed.",
              {{{}, number(totals.requests)}});
  add_counter(families, "cloche_egress_refused_total", "Connections and requests of programs that were not carried.",
              {{{{"outcome", "denied"}}, number(totals.denied)},
               {{{"outcome", "failed"}}, number(totals.failed)},
               {{{"outcome", "over_quota"}}, number(totals.over_quota)}});
  add_counter(families, "cloche_egress_bytes_total", "Bytes of connections of programs.",
              {{{{"direction", "up"}}, number(totals.bytes_up)}, {{{"direction", "down"}}, number(totals.bytes_down)}});
}

void add_internal_errors(Families& families, std::uint64_t count) {
  add_counter(families, "cloche_internal_errors_total", "Tasks and calls of the server that failed by an exception.",
              {{{}, static_cast<double>(count)}});
}

}  // namespace cloche::metrics
