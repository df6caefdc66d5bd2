// From an ExecSpec to the agent's request.
#pragma once

#include "cloche/exec.hpp"
#include "core/result.hpp"
#include "sandbox/kernel.hpp"
#include "sandbox/spec.hpp"
#include "wire/exec_messages.hpp"

namespace cloche {

// Names without '=', and no NUL byte.
Status validate_environment(const std::map<std::string, std::string>& env);

// Refuses what makes no sense. The limits are those that hold now; they may have changed since the sandbox was made.
Result<wire::ExecRequest> to_request(const ExecSpec& spec, const SandboxSpec& sandbox, const Limits& limits,
                                     Kernel kernel);

}  // namespace cloche
