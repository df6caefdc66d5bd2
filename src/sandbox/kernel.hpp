// Kernel: whether the programs of a sandbox share the host's kernel, and what that counts, with their neighbours, have
// one of their own (gVisor), or have that of another machine, of which nothing is known here.
#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"

namespace cloche {

enum class Kernel { shared, own, elsewhere };

// `unsupported` if the agent found a different kernel than the one that the limits of its sandbox were made for.
// `is_gvisor`: what the agent found; an older agent does not say.
Status check_kernel(const std::string& runtime, Kernel expected, std::optional<bool> is_gvisor);

}  // namespace cloche
