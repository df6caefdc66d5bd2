// From an ExecSpec to what the agent is told.
#pragma once

#include "cloche/exec.hpp"
#include "core/result.hpp"
#include "sandbox/spec.hpp"
#include "wire/exec_messages.hpp"

namespace cloche {

// Refuses what makes no sense.
Result<wire::ExecRequest> to_request(const ExecSpec& spec, const SandboxSpec& sandbox);

}  // namespace cloche
