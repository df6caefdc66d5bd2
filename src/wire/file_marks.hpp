// Marks in the messages of failed file operations. The agent writes them and the server recognizes them, for errors
// that have no code of their own.
#pragma once

#include <string_view>

namespace cloche::wire {

// With `permission_denied`: a symbolic link leads out of the directory that the operation was restricted to.
inline constexpr std::string_view link_leads_out = "a symbolic link leads out of ";

}  // namespace cloche::wire
