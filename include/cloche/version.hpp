/// @file
/// The version of the library: macros for the version of these headers, a function for the version of the loaded
/// library. Versions are semantic. While the major version is 0, the minor version changes with the interface.
#pragma once

#include <string_view>

#include "cloche/visibility.hpp"

/// Changes when programs must be changed.
#define CLOCHE_VERSION_MAJOR 0
/// Changes when programs must be recompiled.
#define CLOCHE_VERSION_MINOR 1
/// Changes when neither is necessary.
#define CLOCHE_VERSION_PATCH 0
/// The whole version as text.
#define CLOCHE_VERSION "0.1.0"

namespace cloche {

/// Returns CLOCHE_VERSION of the linked or loaded library.
CLOCHE_API std::string_view version();

}  // namespace cloche
