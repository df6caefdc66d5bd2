// The report of `cloche doctor` about an E2B service. Pure.
#pragma once

#include <chrono>
#include <vector>

#include "backend/e2b/options.hpp"
#include "sandbox/backend.hpp"

namespace cloche::e2b {

// No key is set: the backend is not in use.
std::vector<Finding> unconfigured_findings();
// `key`: whether the service accepts it.
std::vector<Finding> service_findings(const E2bSettings& settings, const std::string& place, const Status& key);
// The result of making a sandbox and removing it, and how long that took.
Finding trial_finding(const E2bSettings& settings, const Status& made, std::chrono::milliseconds took);

}  // namespace cloche::e2b
