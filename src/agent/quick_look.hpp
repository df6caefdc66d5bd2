// A quick look for changes by the agent itself, without a worker: where nobody is at work and the tree is small,
// nothing can be swapped meanwhile, nothing can hang, and it takes less time than a fork.
#pragma once

#include <optional>
#include <vector>

#include "wire/file_messages.hpp"

namespace cloche::agent {

// The replies to a request for `changes`; nullopt where a worker has to look. Only while nobody is at work.
std::optional<std::vector<wire::FileReply>> look_quickly(const wire::FileRequest& request);

}  // namespace cloche::agent
