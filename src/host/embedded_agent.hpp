// The agent's binary is part of the library, so that there is nothing to find and nothing to mismatch.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche {

std::string_view embedded_agent();

// Where it is below the directory, once it has been placed there.
std::string agent_place(const std::string& state_dir);

// Writes it, once for each version, below the directory; says where.
Result<std::string> place_agent(const std::string& state_dir);

}  // namespace cloche
