// `sessions:`, `snapshots:` and `log:` of a configuration.
#pragma once

#include "config/section.hpp"
#include "config/settings.hpp"

namespace cloche::config {

inline constexpr std::uint32_t most_sessions = 5000;

void read_sessions(Section& section, Bytes most_disk, SessionSettings& settings);
void read_snapshots(Section& section, SnapshotSettings& settings);
void read_log(Section& section, LogSettings& settings);

}  // namespace cloche::config
