// Moments of the engine's clock. Ours may differ, so they are only passed back to it.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::docker {

// "2026-01-02T03:04:05.678Z", as the engine writes moments, to "1767323045.678000000", as it reads them in queries.
Result<std::string> to_event_time(std::string_view rfc3339);

// Now, by our clock, as the engine writes moments; to the second.
std::string now_rfc3339();

}  // namespace cloche::docker
