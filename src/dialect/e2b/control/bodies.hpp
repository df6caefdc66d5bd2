// Bodies of the control plane, from JSON to our types. Unknown fields are ignored, as E2B does. No I/O.
#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloche/network.hpp"
#include "core/result.hpp"

namespace cloche::dialect::e2b {

// The same call has other defaults in /v2.
enum class ApiVersion { v1, v2 };

struct TimeoutRule {
  std::chrono::seconds most{};
  std::chrono::seconds least{1};
};

// What a request wants to reach from a sandbox.
struct NetworkWish {
  std::optional<bool> internet;         // allow_internet_access
  std::optional<NetworkPolicy> policy;  // none: what the profile has
  std::optional<bool> public_traffic;   // allowPublicTraffic
  std::string mask_host;                // maskRequestHost; empty: none
  std::vector<std::uint16_t> https_ports;
  std::string shown;  // the wish as JSON, to be shown again; empty: nothing

  bool operator==(const NetworkWish&) const = default;
};

struct NewSandbox {
  std::string template_id;  // as it was given
  std::chrono::seconds timeout{};
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::string> env;
  bool secure = true;
  bool auto_pause = false;
  bool auto_resume = false;
  NetworkWish network;
};

// All return `invalid_argument` and name the field, or `unsupported` for a field whose purpose Cloche has not.
Result<NewSandbox> read_new_sandbox(const boost::json::value& body, ApiVersion version, TimeoutRule rule);
// {"timeout"}: seconds; `otherwise` if it is absent. Without it, the field is required.
Result<std::chrono::seconds> read_timeout(const boost::json::value& body, TimeoutRule rule,
                                          std::optional<std::chrono::seconds> otherwise);
// {"duration"} of /refreshes.
Result<std::chrono::seconds> read_duration(const boost::json::value& body);
// PUT /network: all of it is replaced.
Result<NetworkWish> read_network_update(const boost::json::value& body);

struct ForkBody {
  std::uint32_t count = 1;
  std::optional<std::chrono::seconds> timeout;
};
Result<ForkBody> read_fork(const boost::json::value& body, TimeoutRule rule);

// {"name"} of a snapshot; empty: none.
Result<std::string> read_snapshot_name(const boost::json::value& body);

// The name of a template: "alias", "team/alias", with ":default" or ":latest". Returns the alias. `not_found` for
// another tag.
Result<std::string> template_alias(const std::string& template_id);

}  // namespace cloche::dialect::e2b
