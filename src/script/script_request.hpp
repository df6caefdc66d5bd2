// How a script reaches the harness.
#pragma once

#include <string>
#include <string_view>

#include "cloche/exec.hpp"
#include "cloche/script.hpp"
#include "core/result.hpp"

namespace cloche {

std::string_view to_string(ScriptMode mode);

// Refuses what makes no sense.
Status validate(const ScriptRequest& request);

// The harness's input on stdin.
std::string to_harness_input(const ScriptRequest& request);
// The exec, forked from the harness of this name.
ExecSpec to_exec(const ScriptRequest& request, std::string harness);

}  // namespace cloche
