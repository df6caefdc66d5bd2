// A spec as text, for backends that keep it with what they make: labels of a container, metadata of a remote sandbox.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "sandbox/spec.hpp"

namespace cloche {

// JSON, as the caller gave the spec. A spec holds no secret.
std::string write_spec(const SandboxSpec& spec);
// Back, and validated.
Result<SandboxSpec> read_spec(std::string_view text);

}  // namespace cloche
