// DeviceFilter: which devices the processes of a cgroup can open, by number.
//
// A sandbox without GPUs needs none: it has no privilege to create a node, and all its mounts but /dev ignore nodes.
// One with GPUs has nodes of the host in its /dev, so the kernel checks each open again, by a list (devices cgroup, v1)
// or by a program that is attached to the cgroup (v2).
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace cloche::oci {

// A character device that can be read and written.
struct DeviceRule {
  std::uint32_t major = 0;
  std::optional<std::uint32_t> minor;  // nullopt: every one
};

// Those that every sandbox has: null, zero, full, random, urandom, tty, ptmx and terminals.
std::vector<DeviceRule> harmless_devices();

// The lines for devices.allow of a v1 cgroup, and for a runtime: `c 1:3 rw`.
std::string rule_line(const DeviceRule& rule);

// The program for a v2 cgroup: 1 for what a rule allows, 0 for the rest.
std::vector<bpf_insn> device_program(const std::vector<DeviceRule>& rules);

// `directory`: the cgroup's, without processes.
Status limit_devices_v1(const std::string& directory, const std::vector<DeviceRule>& rules);
// The program stays as long as the cgroup.
Status limit_devices_v2(const std::string& directory, const std::vector<DeviceRule>& rules);

}  // namespace cloche::oci
