#include "backend/oci/examine.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "backend/kernel/host_counters.hpp"
#include "backend/oci/files.hpp"
#include "backend/oci/record.hpp"
#include "backend/oci/root/private_mounts.hpp"
#include "backend/oci/runtime/probe.hpp"

namespace cloche::oci {

namespace {

using Level = Finding::Level;

Finding examine_user() {
  if (::geteuid() == 0) return {"root", Level::good, "running as root", {}};
  return {"root", Level::missing, "running as uid " + std::to_string(::geteuid()),
          "run as root; cgroups and uid ranges require it"};
}

Finding examine_cgroups(const Host& host) {
  const std::string kind(host.cgroup_layout().kind());
  if (!host.cgroups()) return {"cgroups", Level::missing, host.cgroups().error().message, "see the detail"};
  std::string detail = kind + ":";
  for (const char* controller : {"memory", "cpu", "pids"}) {
    detail += std::string(" ") + controller + (host.cgroup_layout().v1(controller) != nullptr ? " (v1)" : " (v2)");
  }
  return {"cgroups", Level::good, std::move(detail), {}};
}

// Does not only check: creates a cgroup and limits it, as a sandbox would.
Finding examine_limits(const Host& host) {
  if (!host.cgroups()) return {"limits", Level::missing, "no cgroups", "see cgroups"};
  const Cgroup cgroup = host.cgroups()->at("examination-" + std::to_string(::getpid()));
  Status status = cgroup.create();
  if (status) status = cgroup.set_limits({mib(64), 0.5, 64});
  const Status removed = cgroup.remove(Deadline::after(std::chrono::seconds(2)));
  if (status && !removed) status = removed;
  if (status) return {"limits", Level::good, "limits for memory (without swap), cpu and pids work", {}};
  return {"limits", Level::missing, status.error().message,
          "enable the controllers memory, cpu and pids, and enable swap accounting or turn swap off"};
}

Finding examine_swap() {
  const auto swaps = read_file("/proc/swaps");
  if (!swaps || std::ranges::count(*swaps, '\n') <= 1) return {"swap", Level::good, "the host has no swap", {}};
  return {"swap", Level::good, "the host has swap; the limits of sandboxes exclude it", {}};
}

Finding examine_user_namespaces() {
  const auto most = read_file("/proc/sys/user/max_user_namespaces");
  const bool usable = path_exists("/proc/self/ns/user") && (!most || std::strtoll(most->c_str(), nullptr, 10) > 0);
  if (usable) return {"user namespaces", Level::good, "available", {}};
  return {"user namespaces", Level::missing, "the kernel does not support or allow them",
          "sysctl -w user.max_user_namespaces=28633"};
}

Finding examine_uids(const Host& host) {
  const auto taken = host.uids().taken();
  if (!taken)
    return {"uid ranges", Level::missing, taken.error().message, "make " + host.options().uid_dir + " writable"};
  const std::uint32_t free = UidRange::slots - *taken;
  const std::string detail = std::to_string(free) + " of " + std::to_string(UidRange::slots) + " free";
  if (free > 0) return {"uid ranges", Level::good, detail, {}};
  return {"uid ranges", Level::missing, detail,
          "destroy sandboxes, or remove claims in " + host.options().uid_dir + " that no sandbox uses"};
}

// One for what is there, and one for each thing that keeps a GPU from being used.
void examine_gpus(const Host& host, std::vector<Finding>& findings) {
  const gpu::Inventory inventory = host.gpus().find();
  for (const std::string& problem : inventory.problems) {
    findings.push_back({"GPUs", Level::warning, problem, "see the detail; docs/gpu.md says what is searched where"});
  }
  if (inventory.gpus.empty()) {
    if (inventory.problems.empty()) findings.push_back({"GPUs", Level::good, "this host has none", {}});
    return;
  }
  const auto lent = host.gpus().lending().all();
  if (!lent) {
    findings.push_back({"GPUs", Level::warning, lent.error().message, "make " + host.options().gpu_dir + " writable"});
    return;
  }
  std::string detail;
  for (const gpu::Gpu& each : inventory.gpus) {
    const bool is_lent = std::ranges::any_of(*lent, [&](const auto& claim) { return claim.name == each.key(); });
    detail += (detail.empty() ? "" : ", ") + each.kind + "=" + each.name + (is_lent ? " (lent)" : "");
  }
  for (const gpu::Driver& driver : inventory.drivers) {
    detail += "; " + std::to_string(driver.files.size()) + " files from " + driver.found_in;
  }
  for (const std::string& one : inventory.left_out) detail += "; not done: " + one;
  findings.push_back({"GPUs", Level::good, std::move(detail), {}});
}

Finding examine_directory(const std::string& name, const std::string& path) {
  if (const Status made = make_directories(path, 0711); !made)
    return {name, Level::missing, made.error().message, "choose another " + name};
  if (::access(path.c_str(), W_OK) != 0)
    return {name, Level::missing, path + " is not writable", "choose another " + name};
  return {name, Level::good, path, {}};
}

Finding examine_reach(const Host& host) {
  const auto reachable = is_reachable_by_all(host.stage_directory());
  if (reachable && *reachable) return {"run_dir reachable", Level::good, host.options().run_dir, {}};
  return {
      "run_dir reachable", Level::warning, "a directory above " + host.stage_directory() + " is closed to others",
      "choose another run_dir, or run chmod o+x on the directories above it; otherwise images and mounts below closed "
      "directories "
      "cannot be used"};
}

// Sandboxes of any server on this host that were to go a while ago, and are still there.
Finding examine_removals(const Host& host) {
  constexpr std::time_t while_ago = 15;
  std::string resisting;
  for (const std::string& owner : list_directory(host.options().run_dir).value_or(std::vector<std::string>{})) {
    const std::string sandboxes = host.options().run_dir + "/" + owner + "/sandboxes";
    for (const std::string& id : list_directory(sandboxes).value_or(std::vector<std::string>{})) {
      std::string file = sandboxes;
      file.append("/").append(id).append("/sandbox.json");
      const auto record = read_record(file);
      struct stat about = {};
      if (!record || record->state != SandboxRecord::State::destroying || ::stat(file.c_str(), &about) != 0) continue;
      const std::time_t age = std::time(nullptr) - about.st_mtime;
      if (age < while_ago) continue;
      resisting += (resisting.empty() ? "" : ", ") + id + " (for " + std::to_string(age) + " s)";
    }
  }
  if (resisting.empty()) return {"removals", Level::good, "no sandbox resists its removal", {}};
  return {"removals", Level::warning, "not removed: " + resisting,
          "look for processes of the sandbox that hang in the kernel (state D) or are frozen; its server tries again, "
          "and its log says what fails"};
}

// Does not only check: creates a small disk and writes to it.
Finding examine_disks(Host& host, const CancelToken& token) {
  disk::DiskStore& disks = host.disks();
  const Status works = disks.probe_again(token);
  if (!works)
    return {"disks", Level::warning, works.error().message, "see the detail; without it, use workspace: memory"};
  const auto room = disks.room();
  if (!room) return {"disks", Level::warning, room.error().message, "set disk.dir"};
  std::string detail = "file system images work (loop device, ext4); all together may have " + to_string(room->most) +
                       ", " + disks.options().dir + " has " + to_string(room->available) + " free";
  const bool configured = disks.options().max_total.count > 0;
  if (!configured || room->most <= room->available) return {"disks", Level::good, std::move(detail), {}};
  return {"disks", Level::warning, std::move(detail),
          "free some space, or set disk.max_total to less; otherwise writes to disks can fail with an I/O error"};
}

Finding examine_egress(Host& host) {
  const Status probed = host.egress().probe();
  if (probed) return {"egress", Level::good, "connections of programs that use no proxy can be redirected", {}};
  return {"egress", Level::warning, probed.error().message + "; programs need the proxy variables",
          "apt-get install nftables, and load the kernel's modules for nftables and connection tracking"};
}

Finding examine_agent(Host& host) {
  const auto copy = host.agent().ensure();
  if (copy) return {"agent", Level::good, host.options().agent_path, {}};
  return {"agent", Level::missing, copy.error().message, "build the target cloche-agent"};
}

Finding examine_runtime(Host& host, const RuntimeTraits& traits, const CancelToken& token) {
  const std::string name = "runtime " + std::string(traits.name);
  const auto runtime = host.runtimes().find(traits.name, token.deadline());
  if (!runtime)
    return {name, Level::warning, runtime.error().message, "apt-get install " + std::string(traits.package)};
  const auto version = runtime_version(*runtime, token.deadline());
  const std::string detail = version ? *version : runtime->program;
  const auto probed = probe_runtime(host, *runtime, token);
  if (probed) return {name, Level::good, detail, {}};
  return {name, Level::warning, detail + ": " + probed.error().message, "see the detail; another runtime may work"};
}

}  // namespace

std::vector<Finding> examine_host(Host& host, const CancelToken& token) {
  std::vector<Finding> findings;
  findings.push_back(examine_user());
  findings.push_back(examine_cgroups(host));
  findings.push_back(examine_limits(host));
  findings.push_back(examine_swap());
  findings.push_back(examine_user_namespaces());
  findings.push_back(examine_host_counters());
  findings.push_back(examine_directory("state_dir", host.options().state_dir));
  findings.push_back(examine_directory("run_dir", host.options().run_dir));
  findings.push_back(examine_reach(host));
  findings.push_back(examine_uids(host));
  examine_gpus(host, findings);
  findings.push_back(examine_disks(host, token));
  findings.push_back(examine_egress(host));
  findings.push_back(examine_agent(host));
  findings.push_back(examine_removals(host));
  std::string strongest;
  for (const RuntimeTraits& traits : known_runtimes()) {
    findings.push_back(examine_runtime(host, traits, token));
    if (strongest.empty() && findings.back().level == Level::good) strongest = traits.name;
  }
  if (strongest.empty()) {
    findings.push_back(
        {"runtime auto", Level::missing, "no runtime works", "apt-get install crun, or runsc for stronger isolation"});
  } else {
    findings.push_back({"runtime auto", Level::good, strongest, {}});
  }
  return findings;
}

}  // namespace cloche::oci
