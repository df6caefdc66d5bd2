/// @file
/// The version of the library: of these headers, by macro, and of the library that the program runs with, by function.
/// Versions are semantic; as long as the first number is 0, the second one changes with the interface.
#pragma once

#include <string_view>

#include "cloche/visibility.hpp"

/// Changes when programs must be changed.
#define CLOCHE_VERSION_MAJOR 0
/// Changes when programs must be compiled again.
#define CLOCHE_VERSION_MINOR 1
/// Changes when neither is needed.
#define CLOCHE_VERSION_PATCH 0
/// All three as text.
#define CLOCHE_VERSION "0.1.0"

namespace cloche {

/// CLOCHE_VERSION of the library that is linked or loaded.
CLOCHE_API std::string_view version();

}  // namespace cloche
