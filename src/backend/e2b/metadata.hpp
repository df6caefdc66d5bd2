// Metadata: how sandboxes of a service say whose they are and what they were made from, so that a later process finds
// them again.
#pragma once

#include <string>

#include "backend/e2b/api/messages.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/spec.hpp"

namespace cloche::e2b::metadata {

inline constexpr const char* app = "cloche.app";            // always `cloche`
inline constexpr const char* owner = "cloche.owner";        // the owner's id
inline constexpr const char* instance = "cloche.instance";  // its name, for people
inline constexpr const char* sandbox = "cloche.sandbox";    // our id of the sandbox
inline constexpr const char* spec_json = "cloche.spec";

// All of a sandbox. `invalid_argument` when the spec's own labels use our names, or are not UTF-8.
Result<Metadata> for_sandbox(const SandboxSpec& spec, const SandboxId& id, const InstanceId& of);

// What identifies this owner's sandboxes, one of them, and those of every owner.
Metadata of_owner(const InstanceId& of);
Metadata of_sandbox(const InstanceId& of, const std::string& id);
Metadata of_all();

// The value; empty if there is none.
std::string value_of(const Metadata& all, const char* name);

}  // namespace cloche::e2b::metadata
