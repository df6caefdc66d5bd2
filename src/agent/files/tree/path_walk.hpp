// resolve() for kernels without openat2, and for paths longer than PATH_MAX: a component at a time.
#pragma once

#include <expected>
#include <string_view>

#include "agent/files/tree/resolve.hpp"

namespace cloche::agent {

constexpr int most_links = 40;

// Like resolve(). The rules are the same or stricter: every symbolic link in procfs is refused. `..`, which can only
// come from links, never asks the kernel for a parent (it may have been moved): the path is walked down again from the
// base.
std::expected<UniqueFd, int> walk_path(int base, Links links, std::string_view path, int flags);

// Whether the directory belongs to procfs, whose links may be no text.
bool is_procfs(int directory);

}  // namespace cloche::agent
