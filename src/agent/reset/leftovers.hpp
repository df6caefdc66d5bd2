// The proof after a reset: checks for anything that a user could have left.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace cloche::agent {

// Adds what is found, at most a few dozen lines. A place that cannot be looked into counts as a leftover. `socket`: see
// list_open_sockets().
void find_leftovers_as(uid_t uid, gid_t gid, const std::vector<std::string>& keep, std::string_view socket,
                       std::vector<std::string>& leftovers);

}  // namespace cloche::agent
