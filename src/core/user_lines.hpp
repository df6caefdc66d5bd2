// The lines of /etc/passwd and /etc/group for the user of a sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cloche {

struct SandboxUser {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string home;
};

// Whether /etc/passwd needs no line for this user: the uid's first line is the user's own; for a user of the usual name
// any line of the uid will do.
bool knows_user(std::string_view passwd, const SandboxUser& user);

// The text of /etc/passwd with a line for this user. It comes first, so that the uid has this name even if the image
// has another for it; lines of the same name are dropped.
std::string with_passwd_line(const std::string& passwd, const SandboxUser& user);

// The same for /etc/group and the user's group, which has the user's name. For a user of the usual name a group of that
// gid keeps its name.
std::string with_group_line(const std::string& group, const SandboxUser& user);

// One line of /etc/passwd. A home that would break the lines is not written there.
std::string passwd_line(const SandboxUser& user);

}  // namespace cloche
