#include "gpu/nvidia.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "gpu/device_node.hpp"
#include "gpu/soname.hpp"

namespace cloche::gpu {

namespace {

namespace fs = std::filesystem;

// What computing needs, and nvidia-smi. Without those for graphics.
constexpr std::array library_names = {"libcuda",         "libnvidia-ml",      "libnvidia-ptxjitcompiler",
                                      "libnvidia-nvvm",  "libnvidia-nvvm70",  "libnvidia-gpucomp",
                                      "libnvidia-cfg",   "libnvidia-opencl",  "libnvidia-allocator",
                                      "libcudadebugger", "libnvidia-tileiras"};
// Asked for by this name, too, by programs that do not link with them.
constexpr std::array plain_names = {"libcuda.so", "libnvidia-ml.so"};
constexpr std::streamsize most_text = 64 * 1024;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(most_text), '\0');
  file.read(text.data(), most_text);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator at(directory, ignored), end; !ignored && at != end; at.increment(ignored)) {
    names.push_back(at->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_version(std::string_view word) {
  return word.find('.') != word.npos && std::isdigit(static_cast<unsigned char>(word.front())) &&
         std::isdigit(static_cast<unsigned char>(word.back())) &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) || c == '.'; });
}

// The UUIDs of the GPUs by the numbers of their nodes.
std::map<std::uint32_t, std::string> uuids_of(const Places& places) {
  std::map<std::uint32_t, std::string> uuids;
  const fs::path gpus = fs::path(places.driver) / "gpus";
  for (const std::string& bus : names_in(gpus)) {
    const NvidiaInformation about = parse_nvidia_information(text_of(gpus / bus / "information"));
    if (about.minor && !about.uuid.empty()) uuids[*about.minor] = about.uuid;
  }
  return uuids;
}

// The nodes of a GPU's instances (MIG), which the driver numbers for itself.
void add_instances(const Places& places, const std::string& gpu, std::vector<DeviceNode>& nodes) {
  const fs::path capabilities = fs::path(places.driver) / "capabilities" / ("gpu" + gpu) / "mig";
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(capabilities, ignored), end; !ignored && at != end; at.increment(ignored)) {
    if (at->path().filename() != "access") continue;
    std::istringstream lines(text_of(at->path()));
    for (std::string word; lines >> word;) {
      std::string number;
      if (word != "DeviceFileMinor:" || !(lines >> number) || !number_of(number)) continue;
      const std::string name = "/nvidia-caps/nvidia-cap" + number;
      auto node = look_at_node(places.devices + name, "/dev" + name, NodeUse::read);
      if (node) nodes.push_back(std::move(*node));
    }
  }
}

std::vector<Gpu> find_nvidia_gpus(const Places& places, Inventory& inventory) {
  const auto uuids = uuids_of(places);
  std::map<std::uint32_t, Gpu> by_number;
  for (const std::string& name : names_in(places.devices)) {
    constexpr std::string_view prefix = "nvidia";
    if (!name.starts_with(prefix)) continue;
    const auto number = number_of(std::string_view(name).substr(prefix.size()));
    if (!number) continue;
    auto node = look_at_node(places.devices + "/" + name, "/dev/" + name, NodeUse::read_and_write);
    if (!node) {
      inventory.problems.push_back(node.error().message);
      continue;
    }
    Gpu& gpu = by_number[*number];
    gpu.kind = nvidia_kind;
    gpu.name = std::to_string(*number);
    gpu.nodes.push_back(std::move(*node));
    add_instances(places, gpu.name, gpu.nodes);
    if (const auto uuid = uuids.find(*number); uuid != uuids.end()) gpu.other_names.push_back(uuid->second);
  }
  std::vector<Gpu> gpus;
  for (auto& [number, gpu] : by_number) gpus.push_back(std::move(gpu));
  return gpus;
}

void add_shared_nodes(const Places& places, Driver& driver, Inventory& inventory) {
  enum class Need { required, optional };
  constexpr std::array<std::pair<const char*, Need>, 4> shared = {{{"nvidiactl", Need::required},
                                                                   {"nvidia-uvm", Need::required},
                                                                   {"nvidia-uvm-tools", Need::optional},
                                                                   {"nvidia-modeset", Need::optional}}};
  for (const auto& [name, need] : shared) {
    auto node = look_at_node(places.devices + "/" + name, std::string("/dev/") + name, NodeUse::read_and_write);
    if (node) {
      driver.nodes.push_back(std::move(*node));
    } else if (need == Need::required) {
      inventory.problems.push_back(node.error().message + "; load the driver's modules with `nvidia-modprobe -u -c 0`");
    }
  }
}

// The first of the directories that has it.
std::string find_file(const std::vector<std::string>& directories, const std::string& name) {
  std::error_code ignored;
  for (const std::string& directory : directories) {
    const fs::path path = fs::path(directory) / name;
    if (fs::is_regular_file(path, ignored)) return fs::canonical(path, ignored).string();
  }
  return {};
}

void add_library(const std::string& path, const std::string& base, Driver& driver) {
  const auto soname = soname_of(path);
  std::set<std::string> names = {soname.value_or(fs::path(path).filename().string())};
  for (const char* plain : plain_names) {
    if (base + ".so" == plain) names.insert(plain);
  }
  for (const std::string& name : names) driver.files.push_back({path, std::string(library_place) + "/" + name});
}

void add_files(const Places& places, Driver& driver, Inventory& inventory) {
  const std::string version = parse_nvidia_version(text_of(fs::path(places.driver) / "version"));
  if (version.empty()) {
    inventory.problems.push_back("NVIDIA: " + places.driver + "/version does not name the driver's version");
    return;
  }
  driver.found_in = "the NVIDIA driver " + version;
  for (const char* base : library_names) {
    const std::string path = find_file(places.libraries, std::string(base) + ".so." + version);
    if (!path.empty()) add_library(path, base, driver);
  }
  if (std::ranges::none_of(driver.files, [](const DriverFile& file) { return file.target.ends_with("/libcuda.so"); })) {
    std::string searched;
    for (const std::string& directory : places.libraries) searched += (searched.empty() ? "" : ", ") + directory;
    inventory.problems.push_back("NVIDIA: no libcuda.so." + version + " in " + searched +
                                 "; install the driver's libraries, or write a CDI specification with `nvidia-ctk cdi "
                                 "generate`");
  }
  const std::string program = find_file(places.programs, "nvidia-smi");
  if (!program.empty()) driver.files.push_back({program, std::string(program_place) + "/nvidia-smi"});
}

}  // namespace

NvidiaInformation parse_nvidia_information(std::string_view text) {
  NvidiaInformation about;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view key = std::string_view(line).substr(0, colon);
    std::string_view value = std::string_view(line).substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back()))) value.remove_suffix(1);
    if (key == "Device Minor") about.minor = number_of(value);
    const bool is_uuid = value.starts_with("GPU-") &&
                         std::ranges::all_of(value, [](unsigned char c) { return std::isalnum(c) || c == '-'; });
    if (key == "GPU UUID" && is_uuid) about.uuid = value;
  }
  return about;
}

std::string parse_nvidia_version(std::string_view text) {
  std::istringstream words{std::string(text.substr(0, text.find('\n')))};
  for (std::string word; words >> word;) {
    if (is_version(word)) return word;
  }
  return {};
}

void add_nvidia(const Places& places, Inventory& inventory) {
  std::vector<Gpu> gpus = find_nvidia_gpus(places, inventory);
  if (gpus.empty()) return;
  Driver driver;
  driver.kind = nvidia_kind;
  driver.found_in = "the NVIDIA driver";
  add_shared_nodes(places, driver, inventory);
  add_files(places, driver, inventory);
  inventory.drivers.push_back(std::move(driver));
  inventory.gpus.insert(inventory.gpus.end(), std::make_move_iterator(gpus.begin()),
                        std::make_move_iterator(gpus.end()));
}

}  // namespace cloche::gpu
