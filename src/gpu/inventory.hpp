// The GPUs of a host: from its CDI specifications, and where they name none, from the driver that is found.
#pragma once

#include "gpu/cdi_spec.hpp"
#include "gpu/gpu.hpp"
#include "gpu/places.hpp"

namespace cloche::gpu {

// Adds the GPUs that a specification describes, as far as they are there. One of another class than `gpu` adds nothing.
//
// Hooks are programs of the host and are not run. What NVIDIA's would do is done in another way: libraries are shown
// with the names that programs ask for.
void add_specification(const CdiSpec& spec, const std::string& file, Inventory& inventory);

// Reads the host. What cannot be read, or used, is in `problems`.
Inventory find_gpus(const Places& places);

}  // namespace cloche::gpu
