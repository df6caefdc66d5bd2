// Limits that make sense.
#pragma once

#include "cloche/limits.hpp"
#include "core/result.hpp"

namespace cloche {

// Refuses what makes no sense (nothing, more than any machine has), with the limit's name in the error. Limits that are
// left to the image are valid: see limits_of_image().
Status validate(const Limits& limits);

// On some backends the image decides how much memory, how many cpus and how much disk a sandbox has
// (BackendTraits::has_sizes_of_image). Limits for them have zero in these five places: memory, cpus, work_dir, tmp_dir
// and shm_dir. A mixture is invalid, so a limit that is set there, and would not be enforced, is an error.
Limits limits_of_image(Limits limits);
bool are_of_image(const Limits& limits);

// The limits with the five sizes of a sandbox that exists.
Limits with_sizes_of(Limits limits, const Limits& made);

// For backends that enforce limits themselves: `invalid_argument` if they are left to the image.
Status require_sizes(const Limits& limits);

}  // namespace cloche
