// What the control plane responds: sandboxes, metrics, logs. No I/O.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "cloche/spec.hpp"
#include "dialect/e2b/sandboxes.hpp"
#include "sandbox/backend.hpp"

namespace cloche::dialect::e2b {

// The version of envd whose interface the sandboxes have. Clients use it to decide what they may ask for.
inline constexpr std::string_view envd_version = "0.6.13";

// How a sandbox is shown to its owner.
struct ShownSandbox {
  const Sandbox& sandbox;
  const session::SessionInfo& info;
  const SandboxSpec& spec;
  std::string_view domain;  // empty: none is configured
};

// The response to create, connect and resume.
boost::json::object to_connection_json(const ShownSandbox& shown);
// An entry of a list.
boost::json::object to_listed_json(const ShownSandbox& shown);
// GET /sandboxes/{id}
boost::json::object to_detail_json(const ShownSandbox& shown);

// `cpu_share` is in percent of one core.
boost::json::object to_metric_json(const SandboxSpec& spec, const ResourceUse& use, double cpu_share, Moment now);
// In percent, since the last sample or, without one, since the creation.
double cpu_share(const std::optional<CpuSample>& before, const CpuSample& now, std::chrono::microseconds age);

boost::json::object to_log_json(const LogEntry& entry);

}  // namespace cloche::dialect::e2b
