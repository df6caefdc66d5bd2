// `pool:` of a configuration, the general one and each profile's.
#pragma once

#include <cstdint>
#include <optional>

#include "cloche/profile.hpp"
#include "config/section.hpp"

namespace cloche::config {

// Pool options that are not complete yet: scale_limit may be given as so many beyond pool_size.
struct PoolDraft {
  PoolOptions options;
  std::optional<std::uint32_t> max_overflow;  // when set, it and not scale_limit counts
};

// Over what the draft has, which may come from another section.
void read_pool(Section& section, PoolDraft& draft);

// Refuses what does not fit together.
Result<PoolOptions> finished_pool(const PoolDraft& draft);

}  // namespace cloche::config
