#include "gpu/inventory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "config/host_file.hpp"
#include "config/yaml_tree.hpp"
#include "gpu/device_node.hpp"
#include "gpu/nvidia.hpp"
#include "gpu/soname.hpp"

namespace cloche::gpu {

namespace {

// Directories that an image has, or Cloche. A mount in one of them would split it.
constexpr std::array image_places = {"/usr",  "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc",    "/dev",
                                     "/proc", "/sys", "/run",  "/var", "/tmp",   "/home",  "/.cloche"};

// Set by Cloche, or such that a program would start another than its caller means.
constexpr std::array own_variables = {"PATH", "HOME", "USER", "LOGNAME"};

bool is_below(std::string_view path, std::string_view place) {
  return path.size() > place.size() && path.starts_with(place) && path[place.size()] == '/';
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The names by which a library is asked for, if the file is one.
bool add_as_library(const CdiMount& mount, std::vector<DriverFile>& files) {
  const auto soname = soname_of(mount.host_path);
  if (!soname) return false;
  std::set<std::string> names = {*soname};
  // libcuda.so for libcuda.so.1
  if (const auto end = soname->find(".so"); end != soname->npos) names.insert(soname->substr(0, end + 3));
  for (const std::string& name : names) files.push_back({mount.host_path, std::string(library_place) + "/" + name});
  return true;
}

// Nothing: it was added. Otherwise why not, in words.
std::optional<std::string> add_file(const CdiMount& mount, std::vector<DriverFile>& files) {
  struct stat about;
  if (::stat(mount.host_path.c_str(), &about) != 0) return "it does not exist";
  const bool is_file = S_ISREG(about.st_mode);
  if (!is_file && !S_ISDIR(about.st_mode)) return "it is neither a file nor a directory";
  if (is_file && add_as_library(mount, files)) return std::nullopt;
  const bool is_program =
      is_file && (about.st_mode & S_IXOTH) != 0 && mount.container_path.find("bin/") != std::string::npos;
  if (is_program) {
    files.push_back({mount.host_path, std::string(program_place) + "/" + std::string(base_name(mount.container_path))});
    return std::nullopt;
  }
  for (const std::string_view place : image_places) {
    if (mount.container_path == place || is_below(mount.container_path, place)) {
      return "only libraries and programs are shown in directories of an image";
    }
  }
  files.push_back({mount.host_path, mount.container_path});
  return std::nullopt;
}

struct Reading {
  const std::string& file;
  Inventory& inventory;

  void leave_out(const std::string& what) const {
    const std::string line = file + ": " + what;
    auto& all = inventory.left_out;
    if (std::ranges::find(all, line) == all.end()) all.push_back(line);
  }
};

void take_files(const Reading& reading, const CdiEdits& edits, Driver& driver) {
  for (const CdiMount& mount : edits.mounts) {
    if (const auto why = add_file(mount, driver.files)) reading.leave_out("mount " + mount.host_path + ": " + *why);
  }
}

void take_variables(const Reading& reading, const CdiEdits& edits, Variables& env) {
  for (const CdiVariable& variable : edits.env) {
    const bool is_ours =
        variable.name.starts_with("LD_") || std::ranges::find(own_variables, variable.name) != own_variables.end();
    if (is_ours) {
      reading.leave_out("variable " + variable.name);
    } else {
      env.insert_or_assign(variable.name, variable.value);
    }
  }
}

void take_rest(const Reading& reading, const CdiEdits& edits) {
  for (const std::string& hook : edits.hooks) reading.leave_out("hook " + hook);
  if (edits.sets_other_things) reading.leave_out("additional groups and cache allocation");
}

Result<std::vector<DeviceNode>> nodes_of(const CdiEdits& edits) {
  std::vector<DeviceNode> nodes;
  for (const CdiNode& given : edits.nodes) {
    CLOCHE_TRY(DeviceNode node, look_at_node(given.host_path, given.path, NodeUse::read));
    if (given.major.value_or(node.major) != node.major || given.minor.value_or(node.minor) != node.minor) {
      return fail(ErrorCode::invalid_argument, given.host_path + " is the device " + std::to_string(node.major) + ":" +
                                                   std::to_string(node.minor) +
                                                   ", and not the one that the specification means; write it again");
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

using Number = std::pair<std::uint32_t, std::uint32_t>;
Number number_of_node(const DeviceNode& node) { return {node.major, node.minor}; }

std::set<Number> numbers_of(const std::vector<DeviceNode>& nodes) {
  std::set<Number> numbers;
  for (const DeviceNode& node : nodes) numbers.insert(number_of_node(node));
  return numbers;
}

// Nodes of the driver are not a GPU's own, also where a device lists them.
void separate_shared(const Driver& driver, Gpu& gpu) {
  const std::set<Number> shared = numbers_of(driver.nodes);
  std::erase_if(gpu.nodes, [&](const DeviceNode& node) { return shared.contains(number_of_node(node)); });
}

// The same nodes under two names are one GPU. The same name again replaces what was there.
void add_or_join(std::vector<Gpu>& gpus, Gpu gpu) {
  std::erase_if(gpus, [&](const Gpu& other) { return other.kind == gpu.kind && other.name == gpu.name; });
  for (Gpu& other : gpus) {
    if (other.kind != gpu.kind || numbers_of(other.nodes) != numbers_of(gpu.nodes)) continue;
    other.other_names.push_back(gpu.name);
    return;
  }
  gpus.push_back(std::move(gpu));
}

// The driver of this kind, to which several specifications may add.
Driver& driver_of_kind(Inventory& inventory, const std::string& kind, const std::string& file) {
  const auto known = std::ranges::find(inventory.drivers, kind, &Driver::kind);
  if (known == inventory.drivers.end()) {
    return inventory.drivers.emplace_back(Driver{.kind = kind, .found_in = file, .nodes = {}, .files = {}, .env = {}});
  }
  known->found_in += ", " + file;
  return *known;
}

// A device that has no node of its own would be lent together with another: such as the one for all of them, and a GPU
// that is lent in parts. The first node of each that stays is one of its own.
void drop_overlapping(Inventory& inventory) {
  std::vector<Gpu>& gpus = inventory.gpus;
  std::map<Number, int> users;
  for (const Gpu& gpu : gpus) {
    for (const Number& number : numbers_of(gpu.nodes)) ++users[number];
  }
  const auto is_own = [&](const DeviceNode& node) { return users[number_of_node(node)] == 1; };
  // The widest first: what it has of others is then not counted against them.
  std::vector<Gpu*> widest_first;
  for (Gpu& gpu : gpus) widest_first.push_back(&gpu);
  std::ranges::stable_sort(widest_first, std::ranges::greater(), [](const Gpu* gpu) { return gpu->nodes.size(); });
  for (Gpu* gpu : widest_first) {
    if (std::ranges::any_of(gpu->nodes, is_own)) continue;
    inventory.left_out.push_back("device " + gpu->kind + "=" + gpu->name + ": others have its nodes");
    for (const Number& number : numbers_of(gpu->nodes)) --users[number];
    gpu->nodes.clear();
  }
  std::erase_if(gpus, [](const Gpu& gpu) { return gpu.nodes.empty(); });
  for (Gpu& gpu : gpus) {
    std::ranges::stable_sort(gpu.nodes, {}, number_of_node);
    std::ranges::stable_partition(gpu.nodes, is_own);
  }
}

void read_specifications(const std::string& directory, Inventory& inventory) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code ignored;
  for (fs::directory_iterator at(directory, ignored), end; !ignored && at != end; at.increment(ignored)) {
    files.push_back(at->path().string());
  }
  std::ranges::sort(files);
  for (const std::string& file : files) {
    const bool is_json = file.ends_with(".json");
    if (!is_json && !file.ends_with(".yaml") && !file.ends_with(".yml")) continue;
    const auto read = config::read_host_file(file, config::max_document);
    if (!read) {
      inventory.problems.push_back(read.error().message);
      continue;
    }
    const auto spec = parse_cdi(read->content, file, is_json ? CdiForm::json : CdiForm::yaml);
    if (!spec) {
      inventory.problems.push_back(spec.error().message);
      continue;
    }
    add_specification(*spec, file, inventory);
  }
}

}  // namespace

void add_specification(const CdiSpec& spec, const std::string& file, Inventory& inventory) {
  if (spec.device_class() != "gpu") return;
  const Reading reading{file, inventory};
  auto shared = nodes_of(spec.edits);
  if (!shared) {
    inventory.problems.push_back(file + ": " + shared.error().message);
    return;
  }
  Driver& driver = driver_of_kind(inventory, spec.kind, file);
  driver.nodes.insert(driver.nodes.end(), shared->begin(), shared->end());
  take_files(reading, spec.edits, driver);
  take_variables(reading, spec.edits, driver.env);
  take_rest(reading, spec.edits);
  for (const CdiDevice& device : spec.devices) {
    auto nodes = nodes_of(device.edits);
    if (!nodes) {
      inventory.problems.push_back(file + ": device " + device.name + ": " + nodes.error().message);
      continue;
    }
    Gpu gpu;
    gpu.kind = spec.kind;
    gpu.name = device.name;
    gpu.nodes = std::move(*nodes);
    separate_shared(driver, gpu);
    take_files(reading, device.edits, driver);
    take_variables(reading, device.edits, gpu.env);
    take_rest(reading, device.edits);
    if (gpu.nodes.empty()) {
      reading.leave_out("device " + device.name + ": it has no device node of its own");
    } else {
      add_or_join(inventory.gpus, std::move(gpu));
    }
  }
}

Inventory find_gpus(const Places& places) {
  Inventory inventory;
  for (const std::string& directory : places.specifications) read_specifications(directory, inventory);
  const bool knows_nvidia = std::ranges::find(inventory.drivers, nvidia_kind, &Driver::kind) != inventory.drivers.end();
  if (!knows_nvidia) add_nvidia(places, inventory);
  drop_overlapping(inventory);
  return inventory;
}

}  // namespace cloche::gpu
