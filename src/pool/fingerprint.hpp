// A fingerprint of all that a profile asks of its sandboxes: one that was made for another is not taken over.
#pragma once

#include <string>

#include "cloche/profile.hpp"

namespace cloche::pool {

std::string fingerprint_of(const Profile& profile);

}  // namespace cloche::pool
