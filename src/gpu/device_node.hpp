// Device nodes of the host, as they are.
#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"
#include "gpu/gpu.hpp"

namespace cloche::gpu {

enum class NodeUse { read, read_and_write };

// The character device at `source`. not_found if there is none; permission_denied if users other than root cannot use
// it: in a sandbox, its owner is unknown and its mode holds.
Result<DeviceNode> look_at_node(const std::string& source, const std::string& target, NodeUse use);

}  // namespace cloche::gpu
