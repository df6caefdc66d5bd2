// Finds what a path points to, from a descriptor, under one of two rules for symbolic links. This is the lowest layer;
// errors are errno numbers.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/unique_fd.hpp"

namespace cloche::agent {

enum class Links {
  anywhere,  // the base is "/": links may lead anywhere
  beneath,   // a link that leads out of the base, or has an absolute target, fails with EXDEV
};

// A name in a directory.
struct Place {
  UniqueFd parent;
  std::string name;
};

// Opens what `path`, relative to `base`, leads to; an empty path is the base itself. Flags as of open(2), never
// O_CREAT; O_CLOEXEC is added. Links of procfs that are not text (`/proc/self/fd/3`) fail with ELOOP.
std::expected<UniqueFd, int> resolve(int base, Links links, const std::string& path, int flags);

// The directory that contains the last component of `path`, and that component, which is not resolved. EINVAL if the
// path has no last component (the base itself, or a path that ends in `..`).
std::expected<Place, int> resolve_place(int base, Links links, std::string_view path);

// The same after following the last component's links: where the file is or would be. EISDIR when that can only be a
// directory.
std::expected<Place, int> resolve_target(int base, Links links, std::string_view path);

// The target of a symbolic link; EINVAL if it is not a link.
std::expected<std::string, int> read_link(int parent, const char* name);

}  // namespace cloche::agent
