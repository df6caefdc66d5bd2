// A quick look for changes by the agent itself, without a worker: where nobody is at work and the tree is small,
// nothing can be swapped meanwhile, nothing can hang, and it takes less time than a fork.
#pragma once

#include <optional>
#include <vector>

#include "agent/stillness.hpp"
#include "wire/file_messages.hpp"

namespace cloche::agent {

// Which tree a request is about, as Stillness tells them apart.
std::string place_of(const wire::FileRequest& request);

// The replies to a request for `changes`; nullopt where a worker has to look: while somebody is at work, and in a tree
// that is not small.
std::optional<std::vector<wire::FileReply>> look_quickly(const wire::FileRequest& request, Stillness& stillness);

}  // namespace cloche::agent
