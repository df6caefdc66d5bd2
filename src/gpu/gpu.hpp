// What a sandbox needs of the host to use a GPU: device nodes, files of the driver, variables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::gpu {

// Where the driver's libraries and programs are in a sandbox, whatever its root is. Each library has the name under
// which programs ask for it (its SONAME), so that neither a loader's cache nor links are needed.
inline constexpr std::string_view library_place = "/.cloche/gpu/lib";
inline constexpr std::string_view program_place = "/.cloche/bin";

// A character device.
struct DeviceNode {
  std::string source;  // on the host
  std::string target;  // in the sandbox, below /dev
  std::uint32_t major = 0;
  std::uint32_t minor = 0;

  bool operator==(const DeviceNode&) const = default;
};

// A file or directory of the host that programs can read.
struct DriverFile {
  std::string source;
  std::string target;

  bool operator==(const DriverFile&) const = default;
};

using Variables = std::map<std::string, std::string>;

// What all GPUs of one kind share.
struct Driver {
  std::string kind;      // as CDI writes it: nvidia.com/gpu
  std::string found_in;  // a specification's file, or a description
  std::vector<DeviceNode> nodes;
  std::vector<DriverFile> files;
  Variables env;
};

// One GPU, or one part of a GPU that can be lent by itself.
struct Gpu {
  std::string kind;
  std::string name;                      // its index, or its name in the specification
  std::vector<std::string> other_names;  // such as its UUID
  std::vector<DeviceNode> nodes;         // of this GPU alone, the first by number first
  Variables env;

  // The same for every server of this host: the numbers of its first node.
  std::string key() const;
  // True for its name, another of its names, and each of these behind `KIND=`.
  bool is_called(std::string_view id) const;
};

struct Inventory {
  std::vector<Driver> drivers;
  std::vector<Gpu> gpus;
  std::vector<std::string> left_out;  // hooks, and what else of a specification is not done, in words
  std::vector<std::string> problems;  // why something that is there cannot be used, in words

  const Driver* driver_of(const Gpu& gpu) const;
};

// What one sandbox gets.
struct Equipment {
  std::vector<DeviceNode> nodes;
  std::vector<DriverFile> files;
  Variables env;
};

// The files of all drivers, which do not depend on the choice of GPUs.
std::vector<DriverFile> files_of(const Inventory& inventory);
// For these GPUs of the inventory.
Equipment equip(const Inventory& inventory, const std::vector<Gpu>& gpus);

}  // namespace cloche::gpu
