// The name under which programs ask for a shared library.
#pragma once

#include <optional>
#include <string>

namespace cloche::gpu {

// The SONAME of a 64-bit ELF library of this machine; nullopt for every other file, and for a library without one.
std::optional<std::string> soname_of(const std::string& path);

}  // namespace cloche::gpu
