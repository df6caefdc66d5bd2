// Labels: how containers say whose they are and what they were made from, so that a later process finds them again.
#pragma once

#include <string>

#include "backend/docker/container_calls.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/spec.hpp"

namespace cloche::docker::labels {

inline constexpr const char* app = "cloche.app";  // always `cloche`
inline constexpr const char* instance = "cloche.instance";
inline constexpr const char* sandbox = "cloche.sandbox";
inline constexpr const char* created = "cloche.created";
inline constexpr const char* spec_json = "cloche.spec";
// On the short-lived container that an image is derived in: whose it is, and which one.
inline constexpr const char* deriving_instance = "cloche.deriving.instance";
inline constexpr const char* deriving = "cloche.deriving";
// On derived images: that they are, and the checksum of the agent in them, so that old ones can be told and removed.
inline constexpr const char* derived = "cloche.derived";
inline constexpr const char* agent = "cloche.agent";

// All labels of a sandbox's container. `invalid_argument` when the spec's own labels use our names.
Result<LabelMap> for_sandbox(const SandboxSpec& spec, const SandboxId& id, const InstanceId& owner);

// What tells this instance's sandboxes from everything else.
LabelMap of_instance(const InstanceId& owner);

// The spec in a label, and back. A spec holds no secret.
std::string write_spec(const SandboxSpec& spec);
Result<SandboxSpec> read_spec(std::string_view text);

}  // namespace cloche::docker::labels
