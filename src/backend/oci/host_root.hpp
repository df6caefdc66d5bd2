// The default root: the host's own programs, read-only, with an /etc that says nothing about the host.
#pragma once

#include <cstdint>
#include <string>

#include "backend/oci/root_plan.hpp"

namespace cloche::oci {

struct HostRootUser {
  std::uint32_t uid = 1000;
  std::uint32_t gid = 1000;
  std::string home;
  std::string hostname;
};

// /usr and, as this host has them, /bin, /sbin and /lib*; a generated /etc, and of the host's /etc what programs cannot
// do without (the linker's cache, alternatives, certificates, settings of Python, Java and fonts), no more. `host` is
// empty but in tests: the directory that stands for the host's "/".
Result<RootPlanner> plan_host_root(const HostRootUser& user, const std::string& host = "");

}  // namespace cloche::oci
