// What `cloche doctor` says of a Docker engine. Pure.
#pragma once

#include <vector>

#include "backend/docker/engine_facts.hpp"
#include "sandbox/backend.hpp"

namespace cloche::docker {

std::vector<Finding> unreachable_findings(const Error& error);
std::vector<Finding> engine_findings(const EngineFacts& facts, ApiVersion api, const http::Endpoint& endpoint);

}  // namespace cloche::docker
