// ApiVersion: the version of the Engine API that is used.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::docker {

struct ApiVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ApiVersion&) const = default;
};

// "1.41"
Result<ApiVersion> parse_api_version(std::string_view text);
std::string to_string(ApiVersion version);

// Older engines ignore Mounts without a word.
inline constexpr ApiVersion oldest_api{1, 25};
// The version that the calls are written for. Newer engines support it too.
inline constexpr ApiVersion preferred_api{1, 41};
// Since this one, an update of a living container changes its pids limit. Older engines ignore it.
inline constexpr ApiVersion pids_update_api{1, 40};
// Since this one, statistics can be had at once instead of after a second.
inline constexpr ApiVersion one_shot_stats_api{1, 41};

// The preferred version, or the nearest that the engine supports: `newest` and `oldest` are the engine's. `unsupported`
// if there is none.
Result<ApiVersion> choose_api_version(ApiVersion newest, ApiVersion oldest);

}  // namespace cloche::docker
