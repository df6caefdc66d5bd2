// Limits that make sense.
#pragma once

#include "cloche/limits.hpp"
#include "core/result.hpp"

namespace cloche {

// Refuses what makes no sense (nothing, more than any machine has), with the limit's name in the error.
Status validate(const Limits& limits);

}  // namespace cloche
