#include "dialect/e2b/control/answers.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value_from.hpp>
#include <cmath>

namespace cloche::dialect::e2b {

namespace {

namespace json = boost::json;

std::int64_t cpus_of(const SandboxSpec& spec) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(spec.limits.cpus)));
}

Bytes disk_of(const SandboxSpec& spec) {
  return spec.workspace == WorkspaceKind::disk ? spec.disk_size : spec.limits.work_dir;
}

std::uint64_t in_mib(Bytes bytes) { return bytes.count >> 20; }

void put_identity(json::object& body, const ShownSandbox& shown) {
  body["templateID"] = shown.sandbox.attributes.template_id;
  body["alias"] = shown.sandbox.attributes.template_id;
  body["sandboxID"] = shown.sandbox.id;
  body["clientID"] = "cloche";
  body["envdVersion"] = envd_version;
}

void put_domain(json::object& body, std::string_view domain) {
  if (domain.empty()) {
    body["domain"] = nullptr;
  } else {
    body["domain"] = domain;
  }
}

}  // namespace

json::object to_connection_json(const ShownSandbox& shown) {
  json::object body;
  put_identity(body, shown);
  if (!shown.sandbox.access_token.empty()) body["envdAccessToken"] = shown.sandbox.access_token;
  if (shown.sandbox.traffic_token.empty()) {
    body["trafficAccessToken"] = nullptr;
  } else {
    body["trafficAccessToken"] = shown.sandbox.traffic_token;
  }
  put_domain(body, shown.domain);
  return body;
}

json::object to_listed_json(const ShownSandbox& shown) {
  json::object body;
  put_identity(body, shown);
  body["startedAt"] = to_time_text(shown.info.created);
  // A paused sandbox has no end of its own; one that is required is the moment of its last use.
  body["endAt"] = to_time_text(shown.info.expires.value_or(shown.info.last_used));
  body["cpuCount"] = cpus_of(shown.spec);
  body["memoryMB"] = in_mib(shown.spec.limits.memory);
  body["diskSizeMB"] = in_mib(disk_of(shown.spec));
  body["metadata"] = json::value_from(shown.info.metadata);
  body["state"] = shown.info.state == session::SessionState::paused ? "paused" : "running";
  body["volumeMounts"] = json::array();
  return body;
}

json::object to_detail_json(const ShownSandbox& shown) {
  json::object body = to_listed_json(shown);
  const Attributes& attributes = shown.sandbox.attributes;
  if (!shown.sandbox.access_token.empty()) body["envdAccessToken"] = shown.sandbox.access_token;
  put_domain(body, shown.domain);
  if (attributes.internet) {
    body["allowInternetAccess"] = *attributes.internet;
  } else {
    body["allowInternetAccess"] = nullptr;
  }
  body["network"] = json::object();
  if (!attributes.network.empty()) {
    boost::system::error_code none;
    const json::value network = json::parse(attributes.network, none);
    if (!none && network.is_object()) body["network"] = network;
  }
  json::object& network = body["network"].get_object();
  if (!attributes.mask_host.empty()) network["maskRequestHost"] = attributes.mask_host;
  if (!attributes.https_ports.empty()) network["httpsPorts"] = json::value_from(attributes.https_ports);
  json::object lifecycle;
  lifecycle["autoResume"] = attributes.auto_resume;
  lifecycle["onTimeout"] = shown.info.on_expiry == session::OnExpiry::pause ? "pause" : "kill";
  body["lifecycle"] = std::move(lifecycle);
  return body;
}

double cpu_share(const std::optional<CpuSample>& before, const CpuSample& now, std::chrono::microseconds age) {
  using Span = std::chrono::duration<double>;
  const Span used = before ? Span(now.used - before->used) : Span(now.used);
  const Span time = before ? Span(now.time - before->time) : Span(age);
  if (time.count() <= 0 || used.count() <= 0) return 0;
  return std::round(used / time * 10'000) / 100;
}

json::object to_metric_json(const SandboxSpec& spec, const ResourceUse& use, double share, Moment now) {
  json::object body;
  body["timestamp"] = to_time_text(now);
  body["timestampUnix"] = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  body["cpuCount"] = cpus_of(spec);
  body["cpuUsedPct"] = share;
  body["memUsed"] = use.memory.count;
  body["memTotal"] = spec.limits.memory.count;
  body["memCache"] = use.cache.count;
  body["diskUsed"] = use.disk.value_or(Bytes{0}).count;
  body["diskTotal"] = disk_of(spec).count;
  return body;
}

json::object to_log_json(const LogEntry& entry) {
  json::object body;
  body["timestamp"] = to_time_text(entry.time);
  body["level"] = entry.level;
  body["message"] = entry.message;
  body["fields"] = json::value_from(entry.fields);
  return body;
}

}  // namespace cloche::dialect::e2b
