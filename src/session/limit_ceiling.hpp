// How far a request may raise the limits of its session above those of the profile.
#pragma once

#include "cloche/limits.hpp"
#include "core/result.hpp"

namespace cloche::session {

// Each limit may go up to the ceiling, or to the profile's own where that is higher. A limit without a ceiling can only
// be lowered. `invalid_argument` names the first that is too high, and the most there is.
Status check_ceiling(const LimitOverrides& asked, const Limits& of_profile, const LimitOverrides& ceiling);

}  // namespace cloche::session
