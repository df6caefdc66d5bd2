#include "gpu/gpu.hpp"

#include <algorithm>
#include <set>

namespace cloche::gpu {

namespace {

void add_nodes(std::vector<DeviceNode>& nodes, const std::vector<DeviceNode>& more) {
  for (const DeviceNode& node : more) {
    if (std::ranges::find(nodes, node.target, &DeviceNode::target) == nodes.end()) nodes.push_back(node);
  }
}

}  // namespace

std::string Gpu::key() const {
  return nodes.empty() ? std::string()
                       : std::to_string(nodes.front().major) + "-" + std::to_string(nodes.front().minor);
}

bool Gpu::is_called(std::string_view id) const {
  const std::string prefix = kind + "=";
  if (id.starts_with(prefix)) id.remove_prefix(prefix.size());
  return id == name || std::ranges::find(other_names, id) != other_names.end();
}

const Driver* Inventory::driver_of(const Gpu& gpu) const {
  const auto found = std::ranges::find(drivers, gpu.kind, &Driver::kind);
  return found == drivers.end() ? nullptr : &*found;
}

std::vector<DriverFile> files_of(const Inventory& inventory) {
  std::vector<DriverFile> files;
  std::set<std::string> targets;
  for (const Driver& driver : inventory.drivers) {
    for (const DriverFile& file : driver.files) {
      if (targets.insert(file.target).second) files.push_back(file);
    }
  }
  return files;
}

Equipment equip(const Inventory& inventory, const std::vector<Gpu>& gpus) {
  Equipment equipment;
  equipment.files = files_of(inventory);
  for (const Gpu& gpu : gpus) {
    if (const Driver* driver = inventory.driver_of(gpu)) {
      add_nodes(equipment.nodes, driver->nodes);
      equipment.env.insert(driver->env.begin(), driver->env.end());
    }
    add_nodes(equipment.nodes, gpu.nodes);
    equipment.env.insert(gpu.env.begin(), gpu.env.end());
  }
  const std::string libraries = std::string(library_place) + "/";
  if (std::ranges::any_of(equipment.files,
                          [&](const DriverFile& file) { return file.target.starts_with(libraries); })) {
    equipment.env["LD_LIBRARY_PATH"] = library_place;
  }
  return equipment;
}

}  // namespace cloche::gpu
