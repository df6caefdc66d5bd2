// The agent's version, for people.
#pragma once

namespace cloche::agent {

inline constexpr const char* version = CLOCHE_VERSION;

}  // namespace cloche::agent
