// A scan for changed files by the agent itself, without a worker. While no program or worker is running and the tree is
// small, files cannot be swapped during the scan, it cannot hang, and it takes less time than a fork.
#pragma once

#include <optional>
#include <vector>

#include "agent/reset/writer_tracker.hpp"
#include "wire/file_messages.hpp"

namespace cloche::agent {

// The tree that a request is about, as a key for WriterTracker.
std::string place_of(const wire::FileRequest& request);

// The replies to a request for `changes`; nullopt if a worker has to do the scan: while a program or worker is running,
// and in a tree that is not small.
std::optional<std::vector<wire::FileReply>> scan_changes_inline(const wire::FileRequest& request,
                                                                WriterTracker& writers);

}  // namespace cloche::agent
