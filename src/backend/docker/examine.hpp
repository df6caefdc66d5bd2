// The report of `cloche doctor` about a Docker engine. Pure.
#pragma once

#include <vector>

#include "backend/docker/engine/container_calls.hpp"
#include "backend/docker/engine/engine_facts.hpp"
#include "sandbox/backend.hpp"

namespace cloche::docker {

std::vector<Finding> unreachable_findings(const Error& error);
// The result of starting a sandbox with a runtime. `needed`: without it no sandbox can be created by default.
Finding runtime_finding(const std::string& runtime, const Status& started, bool needed);
std::vector<Finding> engine_findings(const EngineFacts& facts, ApiVersion api, const http::Endpoint& endpoint);

// Sandboxes of any server that the engine was to remove, and could not.
Finding removals_finding(const std::vector<ContainerSummary>& containers);

}  // namespace cloche::docker
