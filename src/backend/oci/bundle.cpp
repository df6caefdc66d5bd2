#include "backend/oci/bundle.hpp"

#include "backend/kernel/capabilities.hpp"
#include "backend/kernel/proc_paths.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <initializer_list>
#include <string_view>

namespace cloche::oci {

namespace {

namespace json = boost::json;

// All sandboxes share what the kernel has (kernel.pty.max).
constexpr std::string_view most_terminals = "max=64";

json::array strings(std::initializer_list<std::string_view> texts) {
  json::array list;
  for (const std::string_view text : texts) list.emplace_back(json::string(text));
  return list;
}

json::object mount(std::string_view target, std::string_view type, std::string_view source, json::array options) {
  return {{"destination", target}, {"type", type}, {"source", source}, {"options", std::move(options)}};
}

// An in-memory file system also counts against the sandbox's memory; programs reach its own limit first. Inodes use
// memory that the size does not count: one per 4 KiB is plenty.
json::object tmpfs(std::string_view target, Bytes size, std::initializer_list<std::string_view> more) {
  json::array options = strings({"nosuid", "nodev"});
  options.emplace_back("size=" + std::to_string(size.count));
  options.emplace_back("nr_inodes=" + std::to_string(std::max<std::uint64_t>(size.count / 4096, 256)));
  for (const std::string_view option : more) options.emplace_back(json::string(option));
  return mount(target, "tmpfs", "tmpfs", std::move(options));
}

json::object bind(const BundleBind& bound) {
  json::array options = strings({"rbind", bound.access == Access::read_only ? "ro" : "rw", "nosuid", "nodev"});
  if (bound.execution == BundleBind::Execution::forbidden) options.emplace_back("noexec");
  return mount(bound.target, "bind", bound.source, std::move(options));
}

// A device of the host. The only mounts on which devices can be opened.
json::object bind_device(const gpu::DeviceNode& node) {
  return mount(node.target, "bind", node.source, strings({"bind", "rw", "nosuid", "noexec"}));
}

json::array listed_devices(const std::vector<gpu::DeviceNode>& nodes) {
  constexpr int for_all = 0666;
  json::array list;
  for (const gpu::DeviceNode& node : nodes) {
    list.push_back(json::object{{"path", node.target},
                                {"type", "c"},
                                {"major", node.major},
                                {"minor", node.minor},
                                {"fileMode", for_all},
                                {"uid", 0},
                                {"gid", 0}});
  }
  return list;
}

// For a runtime that insists on a list of its own.
json::array device_access(const std::vector<gpu::DeviceNode>& nodes) {
  json::array rules = {json::object{{"allow", false}, {"access", "rwm"}}};
  for (const gpu::DeviceNode& node : nodes) {
    rules.push_back(
        json::object{{"allow", true}, {"type", "c"}, {"major", node.major}, {"minor", node.minor}, {"access", "rw"}});
  }
  return rules;
}

json::object process(const SandboxSpec& spec, const BundleParts& parts) {
  json::array arguments = strings({agent_target});
  for (const std::string& argument : parts.agent_arguments) arguments.emplace_back(argument);
  json::array capabilities;
  for (const std::string_view name : capabilities_for(spec)) capabilities.emplace_back("CAP_" + std::string(name));
  const std::uint64_t open_files = agent_open_files(spec.limits);
  json::object process = {
      {"terminal", false},
      {"user", json::object{{"uid", 0}, {"gid", 0}}},
      {"args", std::move(arguments)},
      {"env", strings({"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"})},
      {"cwd", "/"},
      {"capabilities", json::object{{"bounding", capabilities},
                                    {"effective", capabilities},
                                    {"permitted", capabilities},
                                    {"inheritable", json::array()},
                                    {"ambient", json::array()}}},
      {"noNewPrivileges", true},
      {"oomScoreAdj", 0},
  };
  // In a namespace that is entered they are inherited from the runtime.
  if (parts.user_namespace.empty()) {
    process["rlimits"] =
        json::array{json::object{{"type", "RLIMIT_CORE"}, {"hard", 0}, {"soft", 0}},
                    json::object{{"type", "RLIMIT_NOFILE"}, {"hard", open_files}, {"soft", open_files}}};
  }
  return process;
}

json::array mounts(const SandboxSpec& spec, const BundleParts& parts) {
  json::array list;
  for (const BundleBind& bound : parts.root_binds) list.push_back(bind(bound));
  json::array proc = strings({"nosuid", "noexec", "nodev"});
  if (parts.proc == BundleParts::ProcOptions::hide_processes) {
    proc.emplace_back("hidepid=2");
    proc.emplace_back("gid=0");
  }
  list.push_back(mount("/proc", "proc", "proc", std::move(proc)));
  list.push_back(mount("/dev", "tmpfs", "tmpfs", strings({"nosuid", "strictatime", "mode=755", "size=65536"})));
  list.push_back(mount("/dev/pts", "devpts", "devpts",
                       strings({"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", most_terminals})));
  list.push_back(tmpfs("/dev/shm", spec.limits.shm_dir, {"noexec", "mode=1777"}));
  list.push_back(mount("/dev/mqueue", "mqueue", "mqueue", strings({"nosuid", "noexec", "nodev"})));
  list.push_back(tmpfs("/tmp", spec.limits.tmp_dir, {"mode=1777"}));
  if (spec.root) {
    list.push_back(tmpfs(root_home, spec.limits.tmp_dir, {"mode=0700"}));
    list.push_back(tmpfs(root_run_dir, spec.limits.tmp_dir, {"mode=0755"}));
  }
  if (spec.workspace == WorkspaceKind::memory) {
    list.push_back(tmpfs(spec.work_dir, spec.limits.work_dir,
                         {"mode=0755", "uid=" + std::to_string(uid_of(spec)), "gid=" + std::to_string(spec.gid)}));
  }
  for (const BundleBind& bound : parts.disk) list.push_back(bind(bound));
  for (const BundleBind& bound : parts.mounts) list.push_back(bind(bound));
  for (const BundleBind& bound : parts.volumes) list.push_back(bind(bound));
  if (parts.devices_are == BundleParts::Devices::bound) {
    for (const gpu::DeviceNode& node : parts.devices) list.push_back(bind_device(node));
  }
  return list;
}

json::object linux_part(const BundleParts& parts) {
  const json::array ids = {json::object{{"containerID", 0}, {"hostID", parts.uids.first()}, {"size", UidRange::size}}};
  json::array namespaces;
  for (const char* kind : {"pid", "mount", "ipc", "uts", "network", "cgroup"}) {
    namespaces.push_back(json::object{{"type", kind}});
  }
  json::object user = {{"type", "user"}};
  if (!parts.user_namespace.empty()) user["path"] = parts.user_namespace;
  namespaces.push_back(std::move(user));
  json::object part = {
      {"namespaces", std::move(namespaces)},
      {"uidMappings", ids},  // also of a namespace that is made already: runc insists on it
      {"gidMappings", ids},
      {"maskedPaths", json::array(masked_paths.begin(), masked_paths.end())},
      {"readonlyPaths", json::array(read_only_paths.begin(), read_only_paths.end())},
      {"seccomp", seccomp_profile(parts.seccomp)},
  };
  if (!parts.cgroup_path.empty()) part["cgroupsPath"] = parts.cgroup_path;
  if (!parts.devices.empty() && parts.devices_are == BundleParts::Devices::listed) {
    part["devices"] = listed_devices(parts.devices);
  }
  if (!parts.devices.empty() && !parts.cgroup_path.empty()) {
    part["resources"] = json::object{{"devices", device_access(parts.devices)}};
  }
  return part;
}

}  // namespace

std::uint64_t agent_open_files(const Limits& limits) { return std::max<std::uint64_t>(limits.open_files, 4096); }

json::object make_bundle(const SandboxSpec& spec, const BundleParts& parts) {
  return {
      {"ociVersion", "1.0.2"},
      {"process", process(spec, parts)},
      {"root", json::object{{"path", parts.root}, {"readonly", true}}},
      {"hostname", spec.hostname},
      {"mounts", mounts(spec, parts)},
      {"linux", linux_part(parts)},
  };
}

}  // namespace cloche::oci
