// The proof after a reset: checks for anything that a user could have left.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cloche::agent {

// Adds what is found, at most a few dozen lines. A place that cannot be looked into counts as a leftover.
void find_leftovers_as(uid_t uid, gid_t gid, const std::vector<std::string>& keep, std::vector<std::string>& leftovers);

}  // namespace cloche::agent
