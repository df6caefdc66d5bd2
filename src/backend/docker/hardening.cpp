#include "backend/docker/hardening.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backend/kernel/capabilities.hpp"
#include "backend/kernel/cpu_share.hpp"
#include "backend/kernel/gvisor_needs.hpp"
#include "backend/kernel/proc_paths.hpp"
#include "backend/kernel/seccomp.hpp"

namespace cloche::docker {

namespace {

bool is_at_or_below(std::string_view path, std::string_view place) {
  return path == place || (path.starts_with(place) && path.size() > place.size() && path[place.size()] == '/');
}

// An inode costs kernel memory too; one for each KiB is plenty, and a small place still holds a source tree.
std::uint64_t inodes_for(Bytes size) { return std::clamp<std::uint64_t>(size.count >> 10, 1024, 262'144); }

json::object tmpfs_places(const SandboxSpec& spec, const std::vector<std::string>& volumes) {
  json::object places;
  for (const auto& volume : volumes) places[volume] = "ro,noexec,nosuid,nodev,size=4096";
  places["/tmp"] = fmt::format("rw,exec,nosuid,nodev,size={},nr_inodes={},mode=1777", spec.limits.tmp_dir.count,
                               inodes_for(spec.limits.tmp_dir));
  if (spec.root) {
    const auto place = [&](std::string_view mode) {
      return fmt::format("rw,exec,nosuid,nodev,size={},nr_inodes={},mode={}", spec.limits.tmp_dir.count,
                         inodes_for(spec.limits.tmp_dir), mode);
    };
    places[root_home] = place("0700");
    places[root_run_dir] = place("0755");
  }
  // The engine's own has a size, and no limit of inodes.
  places["/dev/shm"] = fmt::format("rw,noexec,nosuid,nodev,size={},nr_inodes={},mode=1777", spec.limits.shm_dir.count,
                                   inodes_for(spec.limits.shm_dir));
  places[spec.work_dir] =
      fmt::format("rw,exec,nosuid,nodev,size={},nr_inodes={},uid={},gid={},mode=0755", spec.limits.work_dir.count,
                  inodes_for(spec.limits.work_dir), uid_of(spec), spec.gid);
  return places;
}

json::array bind_mounts(const SandboxSpec& spec, const HostPathMap& map) {
  json::array mounts;
  for (const Mount& mount : spec.mounts) {
    const bool read_only = mount.access == Access::read_only;
    // What is mounted below a read-only bind would stay writable, so it is left out.
    mounts.push_back(
        json::object{{"Type", "bind"},
                     {"Source", to_host_path(map, mount.source)},
                     {"Target", mount.target},
                     {"ReadOnly", read_only},
                     {"BindOptions", json::object{{"Propagation", "rprivate"}, {"NonRecursive", read_only}}}});
  }
  return mounts;
}

json::object ulimit(const char* name, std::uint64_t value) {
  return {{"Name", name}, {"Soft", value}, {"Hard", value}};
}

// Not the engine's own, which lets more through from release to release: vsock, which leads to the host of a virtual
// machine, and io_uring, which no filter sees into.
std::string filter_option() {
  return "seccomp=" + boost::json::serialize(seccomp_profile(SeccompDialect::linux_kernel));
}

json::array device_list(const std::vector<DeviceRequest>& requests) {
  json::array list;
  for (const DeviceRequest& request : requests) {
    // Of NVIDIA's driver: what computing needs, without graphics.
    json::array abilities = {json::array{"gpu", "compute", "utility"}};
    list.push_back(json::object{{"Driver", request.driver},
                                {"DeviceIDs", json::array(request.ids.begin(), request.ids.end())},
                                {"Capabilities", std::move(abilities)}});
  }
  return list;
}

json::object host_config(const SandboxSpec& spec, const ContainerPlan& plan) {
  json::object config = resource_limits(spec.limits, plan.kernel);
  config["Runtime"] = plan.runtime;
  config["ReadonlyRootfs"] = true;
  config["Privileged"] = false;
  config["CapDrop"] = json::array{"ALL"};
  json::array capabilities;
  for (const std::string_view name : capabilities_for(spec)) capabilities.emplace_back(json::string(name));
  config["CapAdd"] = std::move(capabilities);
  config["SecurityOpt"] = json::array{"no-new-privileges", filter_option()};
  // Not the engine's own: it leaves the host's interrupts and load open.
  config["MaskedPaths"] = json::array(masked_paths.begin(), masked_paths.end());
  config["ReadonlyPaths"] = json::array(read_only_paths.begin(), read_only_paths.end());
  config["NetworkMode"] = "none";
  config["IpcMode"] = "private";
  config["PidMode"] = "";
  config["Tmpfs"] = tmpfs_places(spec, plan.volumes);
  config["ShmSize"] = spec.limits.shm_dir.count;  // of whatever an engine may put there instead
  config["Mounts"] = bind_mounts(spec, plan.host_path_map);
  // The channel is the container's output; a log would be a copy of all that ever happened inside.
  config["LogConfig"] = json::object{{"Type", "none"}, {"Config", json::object{}}};
  // Room for the agent's own descriptors; it lowers the limit for the programs.
  config["Ulimits"] =
      json::array{ulimit("core", 0), ulimit("nofile", std::max<std::uint64_t>(spec.limits.open_files, 4096))};
  if (!plan.devices.empty()) config["DeviceRequests"] = device_list(plan.devices);
  config["AutoRemove"] = false;
  config["Init"] = false;
  config["RestartPolicy"] = json::object{{"Name", "no"}};
  return config;
}

}  // namespace

std::int64_t engine_pids(std::uint32_t pids, Kernel kernel) {
  // What the engine's host has is not known; this is half of the smallest usual pid_max.
  constexpr std::uint32_t share = 16'384;
  return kernel == Kernel::own ? gvisor_host_tasks(pids, share) : pids;
}

json::object resource_limits(const Limits& limits, Kernel kernel) {
  const CpuShare cpu = cpu_share(limits.cpus);
  // Memory and swap together may be no more than memory alone: no swap. Not NanoCpus: its period is the kernel's usual.
  return {{"Memory", limits.memory.count},
          {"MemorySwap", limits.memory.count},
          {"CpuPeriod", cpu.period_us},
          {"CpuQuota", cpu.quota_us},
          {"PidsLimit", engine_pids(limits.pids, kernel)}};
}

json::object container_body(const SandboxSpec& spec, const ContainerPlan& plan) {
  json::object labels;
  for (const auto& [name, value] : plan.labels) labels[name] = value;
  json::object body{{"Image", plan.image},
                    {"Hostname", spec.hostname},
                    {"User", "0:0"},
                    {"WorkingDir", "/"},
                    {"Entrypoint", json::array{agent_in_sandbox}},
                    {"Cmd", json::array{"init"}},
                    {"Env", json::array{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
                    {"Tty", false},
                    {"OpenStdin", true},
                    // Stdin stays open when a server goes away, so that the next one can take the sandbox up again.
                    {"StdinOnce", false},
                    {"AttachStdin", true},
                    {"AttachStdout", true},
                    {"AttachStderr", true},
                    {"StopSignal", "SIGKILL"},
                    // An image's own check would run programs beside the agent.
                    {"Healthcheck", json::object{{"Test", json::array{"NONE"}}}}};
  body["Labels"] = std::move(labels);
  body["HostConfig"] = host_config(spec, plan);
  return body;
}

Status check_volumes(const std::vector<std::string>& volumes) {
  for (const auto& volume : volumes) {
    const bool hides = !is_clean_absolute_path(volume) || volume == "/" || is_at_or_below(volume, agent_directory) ||
                       is_at_or_below(volume, "/proc") || is_at_or_below(volume, "/sys") ||
                       is_at_or_below(volume, "/dev");
    if (hides) {
      return fail(ErrorCode::unsupported,
                  "the image declares a volume at '" + volume +
                      "', which is not allowed in a sandbox because it would be writable without limit; "
                      "use an image without that VOLUME");
    }
  }
  return {};
}

bool warns_of_lost_limit(std::string_view warning) {
  // Not about limits: ports published to a network, of which a sandbox has none, and images of another architecture,
  // which either run or do not.
  return warning.find("Published ports") == warning.npos && warning.find("platform") == warning.npos;
}

}  // namespace cloche::docker
