// Labels: how containers say whose they are and what they were made from, so that a later process finds them again.
#pragma once

#include <optional>
#include <string>

#include "backend/docker/engine/container_calls.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/spec_text.hpp"

namespace cloche::docker::labels {

inline constexpr const char* app = "cloche.app";  // always `cloche`
// Whose it is: the owner's id. The instance's name and the directory that keeps the id are for people and `doctor`.
inline constexpr const char* owner = "cloche.owner";
inline constexpr const char* instance = "cloche.instance";
inline constexpr const char* place = "cloche.place";
inline constexpr const char* sandbox = "cloche.sandbox";
inline constexpr const char* created = "cloche.created";
inline constexpr const char* uid = "cloche.uid";  // of its programs, on the engine's host
inline constexpr const char* spec_json = "cloche.spec";
// On the short-lived container that an image is derived in: its owner and the image.
inline constexpr const char* deriving_owner = "cloche.deriving.owner";
inline constexpr const char* deriving = "cloche.deriving";
inline constexpr const char* former_deriving = "cloche.deriving.instance";  // before owners had ids
// On derived images: that they are derived, and the checksum of the agent in them, so that old ones can be found and
// removed.
inline constexpr const char* derived = "cloche.derived";
inline constexpr const char* agent = "cloche.agent";

// All labels of a sandbox's container. `invalid_argument` when the spec's own labels use our names.
Result<LabelMap> for_sandbox(const SandboxSpec& spec, const SandboxId& id, const InstanceId& of);

// The labels that identify this owner's sandboxes.
LabelMap of_owner(const InstanceId& id);

// The owner of a container of a sandbox or of a derivation. For containers from before owners had ids, the name of the
// instance. Empty if it is not a container of Cloche.
std::string owner_of(const LabelMap& borne);

// The uid of a container's programs, if it says one.
std::optional<std::uint32_t> read_uid(const LabelMap& borne);

}  // namespace cloche::docker::labels
