// The log: one line an event, to stderr. Never a secret, never code or output of a caller.
#pragma once

#include <spdlog/spdlog.h>

namespace cloche::log {

using spdlog::debug;
using spdlog::error;
using spdlog::info;
using spdlog::warn;

// Sets level (`trace` to `off`) and form; call once, early.
void set_up(spdlog::level::level_enum level);

}  // namespace cloche::log
