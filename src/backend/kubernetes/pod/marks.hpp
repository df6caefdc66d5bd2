// Marks: how pods say whose they are and what they were made from, so that a later process, or another one, finds them.
// Labels are what lists are filtered by; annotations carry the rest.
#pragma once

#include <map>
#include <string>

#include "core/ids.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/spec.hpp"

namespace cloche::kubernetes::marks {

inline constexpr const char* app = "app.kubernetes.io/name";               // always `cloche`
inline constexpr const char* managed_by = "app.kubernetes.io/managed-by";  // always `cloche`
inline constexpr const char* owner = "cloche.dev/owner";                   // the owner's id
inline constexpr const char* sandbox = "cloche.dev/sandbox";               // our id of the sandbox
// idle, claimed or dirty. A pod of a single server is claimed from its creation on; a pool that several share changes
// it by one patch that tests the old value.
inline constexpr const char* state = "cloche.dev/state";

inline constexpr const char* instance = "cloche.dev/instance";  // annotation: the owner's name, for people
inline constexpr const char* spec_json = "cloche.dev/spec";     // annotation
inline constexpr const char* kernel = "cloche.dev/kernel";      // annotation: own, or elsewhere
inline constexpr const char* uid = "cloche.dev/uid";            // annotation: of the programs
inline constexpr const char* passwd = "cloche.dev/passwd";      // annotation: becomes /etc/passwd
inline constexpr const char* group = "cloche.dev/group";        // annotation: becomes /etc/group

using Marks = std::map<std::string, std::string>;

Marks labels_of(const SandboxId& id, const InstanceId& of);

// Label selectors, encoded for a query.
std::string of_owner(const InstanceId& of);
std::string of_all();

// `cloche-OWNER-ID`, with the beginning of the owner's id.
std::string pod_name(const InstanceId& of, const std::string& sandbox);

// The value; empty if there is none.
std::string value_of(const Marks& all, const char* name);

}  // namespace cloche::kubernetes::marks
