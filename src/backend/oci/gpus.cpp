#include "backend/oci/gpus.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>
#include <cerrno>
#include <memory>
#include <sstream>

#include "backend/oci/files.hpp"
#include "gpu/inventory.hpp"

namespace cloche::oci {

namespace {

namespace json = boost::json;

// A program can map a great many pieces, but none that survives a reset does.
constexpr Bytes most_mappings = mib(16);

std::unexpected<Error> held(pid_t pid, const std::string& how, const gpu::DeviceNode& node) {
  return fail(ErrorCode::internal, "process " + std::to_string(pid) + " of the sandbox still has " + node.target + " " +
                                       how + ", so its GPU is not free");
}

const gpu::DeviceNode* node_with(const SandboxGpus& gpus, const struct stat& about) {
  if (!S_ISCHR(about.st_mode)) return nullptr;
  const auto found = std::ranges::find_if(gpus.nodes, [&](const gpu::DeviceNode& node) {
    return node.major == ::gnu_dev_major(about.st_rdev) && node.minor == ::gnu_dev_minor(about.st_rdev);
  });
  return found == gpus.nodes.end() ? nullptr : &*found;
}

Status prove_closed(pid_t pid, const SandboxGpus& gpus) {
  const std::string place = "/proc/" + std::to_string(pid) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(place.c_str()), ::closedir);
  // A process that has ended has nothing open.
  if (!dir && (errno == ENOENT || errno == ESRCH)) return {};
  if (!dir) return fail_errno("open " + place);
  while (const dirent* entry = ::readdir(dir.get())) {
    struct stat about;
    if (::fstatat(::dirfd(dir.get()), entry->d_name, &about, 0) != 0) continue;
    if (const gpu::DeviceNode* node = node_with(gpus, about)) return held(pid, "open", *node);
  }
  return {};
}

Status prove_unmapped(pid_t pid, const SandboxGpus& gpus) {
  const auto mappings = read_file("/proc/" + std::to_string(pid) + "/maps", most_mappings);
  if (!mappings && mappings.error().code == ErrorCode::not_found) return {};
  if (!mappings) return fail(mappings.error());
  std::istringstream lines(*mappings);
  for (std::string line; std::getline(lines, line);) {
    const auto path = line.find(" /dev/");
    if (path == line.npos) continue;
    for (const gpu::DeviceNode& node : gpus.nodes) {
      if (line.compare(path + 1, std::string::npos, node.target) == 0) return held(pid, "mapped", node);
    }
  }
  return {};
}

}  // namespace

gpu::Inventory HostGpus::find() const { return gpu::find_gpus(places_); }

SandboxGpus SandboxGpus::of(const gpu::Inventory& inventory, const std::vector<gpu::Gpu>& lent) {
  SandboxGpus gpus;
  if (lent.empty()) return gpus;
  gpu::Equipment equipment = gpu::equip(inventory, lent);
  gpus.nodes = std::move(equipment.nodes);
  gpus.env = std::move(equipment.env);
  for (const gpu::Gpu& gpu : lent) gpus.names.push_back(gpu.name);
  return gpus;
}

json::object to_json(const SandboxGpus& gpus) {
  json::array nodes;
  for (const gpu::DeviceNode& node : gpus.nodes) {
    nodes.push_back(
        json::object{{"source", node.source}, {"target", node.target}, {"major", node.major}, {"minor", node.minor}});
  }
  return {{"names", json::value_from(gpus.names)}, {"nodes", std::move(nodes)}, {"env", json::value_from(gpus.env)}};
}

SandboxGpus gpus_from_json(const json::object& object) {
  SandboxGpus gpus;
  gpus.names = json::value_to<std::vector<std::string>>(object.at("names"));
  for (const json::value& each : object.at("nodes").as_array()) {
    const json::object& node = each.as_object();
    gpus.nodes.push_back({std::string(node.at("source").as_string()), std::string(node.at("target").as_string()),
                          node.at("major").to_number<std::uint32_t>(), node.at("minor").to_number<std::uint32_t>()});
  }
  gpus.env = json::value_to<gpu::Variables>(object.at("env"));
  return gpus;
}

std::vector<Mount> driver_mounts(const gpu::Inventory& inventory) {
  std::vector<Mount> mounts;
  for (const gpu::DriverFile& file : gpu::files_of(inventory)) {
    mounts.push_back({file.source, file.target, Access::read_only});
  }
  return mounts;
}

std::vector<DeviceRule> device_rules(const std::vector<gpu::DeviceNode>& nodes) {
  std::vector<DeviceRule> rules = harmless_devices();
  for (const gpu::DeviceNode& node : nodes) rules.push_back({node.major, node.minor});
  return rules;
}

Status prove_released(const Cgroup& cgroup, const SandboxGpus& gpus) {
  CLOCHE_TRY(const std::vector<pid_t> processes, cgroup.processes());
  for (const pid_t pid : processes) {
    CLOCHE_CHECK(prove_closed(pid, gpus));
    CLOCHE_CHECK(prove_unmapped(pid, gpus));
  }
  return {};
}

}  // namespace cloche::oci
