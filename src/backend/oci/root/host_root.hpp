// The default root: the host's own programs, read-only, with an /etc that says nothing about the host.
#pragma once

#include <string>

#include "backend/oci/root/root_plan.hpp"
#include "sandbox/users.hpp"

namespace cloche::oci {

struct HostRootUser {
  SandboxUser user;
  std::string hostname;
  std::string root_home = "/";
};

// /usr and, as on this host, /bin, /sbin and /lib*; a generated /etc, and from the host's /etc only what programs need
// (the linker's cache, alternatives, certificates, settings of Python, Java and fonts). `host` is empty except in
// tests: the directory that replaces the host's "/".
Result<RootPlanner> plan_host_root(const HostRootUser& user, const std::string& host = "");

}  // namespace cloche::oci
