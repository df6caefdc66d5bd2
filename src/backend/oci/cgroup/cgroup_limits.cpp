// The limits of a sandbox: written to its cgroup, read back, and reverted as a whole if one value is not accepted.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "backend/kernel/cpu_share.hpp"
#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

struct Setting {
  std::string path;
  std::string value;
};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// A host without swap needs no limit on it.
Status refuse_swap(const std::string& control) {
  CLOCHE_TRY(const std::string swaps, read_file("/proc/swaps"));
  if (std::ranges::count(swaps, '\n') <= 1) return {};
  return fail(ErrorCode::unsupported, "memory cannot be kept out of swap: the kernel has no " + control +
                                          "; boot with swapaccount=1 or turn swap off (swapoff -a)");
}

// Lowering memory.max below what is used would make the kernel kill in the sandbox at once; v1 refuses by itself.
Status make_room_v2(const std::string& directory, std::uint64_t limit) {
  const auto used = [&]() -> Result<std::uint64_t> {
    CLOCHE_TRY(const std::string text, read_file(directory + "/memory.current"));
    return std::stoull(text);
  };
  CLOCHE_TRY(const std::uint64_t before, used());
  if (before <= limit) return {};
  // Page cache is released on request (Linux 5.19); what cannot be released is reported below.
  (void)write_control(directory + "/memory.reclaim", std::to_string(before - limit));
  CLOCHE_TRY(const std::uint64_t after, used());
  if (after <= limit) return {};
  return fail(ErrorCode::limit_reached,
              "the sandbox uses " + to_string(Bytes{after}) + " of memory, more than the new limit");
}

Status add_memory(const CgroupPlace& place, Bytes memory, std::vector<Setting>& settings) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t limit = memory.count / page * page;
  const std::string value = std::to_string(limit);
  if (place.version == CgroupVersion::v2) {
    CLOCHE_CHECK(make_room_v2(place.directory, limit));
    settings.push_back({place.directory + "/memory.max", value});
    if (path_exists(place.directory + "/memory.swap.max")) {
      settings.push_back({place.directory + "/memory.swap.max", "0"});
    } else {
      CLOCHE_CHECK(refuse_swap("memory.swap.max"));
    }
    return {};
  }
  // On v1 the buffers of TCP and UDP are not part of the memory; without a limit they would be limited for all
  // sandboxes and the host together.
  const std::string buffers = place.directory + "/memory.kmem.tcp.limit_in_bytes";
  if (path_exists(buffers)) settings.push_back({buffers, value});
  const Setting plain = {place.directory + "/memory.limit_in_bytes", value};
  const Setting with_swap = {place.directory + "/memory.memsw.limit_in_bytes", value};
  if (!path_exists(with_swap.path)) {
    settings.push_back(plain);
    return refuse_swap("memory.memsw.limit_in_bytes");
  }
  // Memory with swap may never be less than memory without, so the order depends on the direction.
  CLOCHE_TRY(const std::string now, read_file(with_swap.path));
  if (limit > std::stoull(now)) {
    settings.push_back(with_swap);
    settings.push_back(plain);
  } else {
    settings.push_back(plain);
    settings.push_back(with_swap);
  }
  return {};
}

// Unused time of a period may be used later, up to one period's share (Linux 5.14). The average stays. A burst must not
// be more than the quota, so it is cleared before the quota changes.
void add_cpu(const CgroupPlace& place, double cpus, std::vector<Setting>& settings) {
  const CpuShare share = cpu_share(cpus);
  const std::string quota = std::to_string(share.quota_us);
  const std::string period = std::to_string(share.period_us);
  const bool v2 = place.version == CgroupVersion::v2;
  const std::string burst = place.directory + (v2 ? "/cpu.max.burst" : "/cpu.cfs_burst_us");
  const bool has_burst = path_exists(burst);
  if (has_burst) settings.push_back({burst, "0"});
  if (v2) {
    settings.push_back({place.directory + "/cpu.max", (cpus == 0 ? "max" : quota) + " " + period});
  } else {
    settings.push_back({place.directory + "/cpu.cfs_period_us", period});
    settings.push_back({place.directory + "/cpu.cfs_quota_us", cpus == 0 ? "-1" : quota});
  }
  if (has_burst && cpus > 0) settings.push_back({burst, quota});
}

Status apply(const Setting& setting) {
  CLOCHE_CHECK(write_control(setting.path, setting.value));
  CLOCHE_TRY(const std::string now, read_file(setting.path));
  if (trimmed(now) != setting.value) {
    return fail(ErrorCode::unsupported,
                setting.path + " says " + trimmed(now) + " after " + setting.value + " was written");
  }
  return {};
}

}  // namespace

Status Cgroup::set_limits(const CgroupLimits& limits) const {
  std::vector<Setting> settings;
  for (const CgroupPlace& place : places_) {
    if (place.has("memory")) CLOCHE_CHECK(add_memory(place, limits.memory, settings));
    if (place.has("cpu")) add_cpu(place, limits.cpus, settings);
    if (place.has("pids")) settings.push_back({place.directory + "/pids.max", std::to_string(limits.pids)});
  }
  std::vector<Setting> former;
  for (const Setting& setting : settings) {
    auto before = read_file(setting.path);
    Status applied = before ? apply(setting) : Status(fail(before.error()));
    if (applied) {
      former.push_back({setting.path, trimmed(std::move(*before))});
      continue;
    }
    if (before) former.push_back({setting.path, trimmed(std::move(*before))});
    while (!former.empty()) {
      (void)write_control(former.back().path, former.back().value);
      former.pop_back();
    }
    return fail(std::move(applied).error().at("set the sandbox's limits"));
  }
  return {};
}

}  // namespace cloche::oci
