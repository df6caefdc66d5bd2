// Options of pools that make sense.
#pragma once

#include "cloche/profile.hpp"
#include "core/result.hpp"

namespace cloche {

// Refuses what makes no sense, with the option's name in the error.
Status validate(const PoolOptions& options);
Status validate(const Profile& profile);

}  // namespace cloche
