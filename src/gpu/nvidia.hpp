// NVIDIA's driver on a host without a specification: its device nodes, and the libraries of its version.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpu/gpu.hpp"
#include "gpu/places.hpp"

namespace cloche::gpu {

inline constexpr std::string_view nvidia_kind = "nvidia.com/gpu";

// From the text of `information` of a GPU. Nothing where a line is missing.
struct NvidiaInformation {
  std::optional<std::uint32_t> minor;
  std::string uuid;
};
NvidiaInformation parse_nvidia_information(std::string_view text);

// From the text of /proc/driver/nvidia/version: `580.159.04`. Empty if there is none.
std::string parse_nvidia_version(std::string_view text);

// Adds the GPUs, their driver and what is wrong with them. A host without them changes nothing.
void add_nvidia(const Places& places, Inventory& inventory);

}  // namespace cloche::gpu
