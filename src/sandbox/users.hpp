// The users of a sandbox.
#pragma once

#include <string_view>

#include "core/result.hpp"
#include "core/user_lines.hpp"
#include "sandbox/spec.hpp"

namespace cloche {

// By name; empty: the user of the programs. not_found for another name, and for root in a sandbox without it.
Result<SandboxUser> find_user(const SandboxSpec& spec, std::string_view name);

}  // namespace cloche
