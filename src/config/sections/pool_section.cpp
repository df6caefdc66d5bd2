#include "config/sections/pool_section.hpp"

namespace cloche::config {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t most_sandboxes = 10'000;
constexpr std::uint64_t most_waiting = 1'000'000;
constexpr std::uint64_t most_uses = 1'000'000;

// scale_limit and max_overflow are two ways to say one thing; the section that is read last decides.
void read_scale(Section& section, PoolDraft& draft) {
  const bool has_limit = section.has("scale_limit"), has_overflow = section.has("max_overflow");
  std::uint32_t overflow = 0;
  section.whole("scale_limit", draft.options.scale_limit, {1, most_sandboxes});
  section.whole("max_overflow", overflow, {0, most_sandboxes});
  if (has_limit && has_overflow && draft.options.pool_size + overflow != draft.options.scale_limit) {
    section.refuse("max_overflow", "pool_size " + std::to_string(draft.options.pool_size) + " and max_overflow " +
                                       std::to_string(overflow) + " make " +
                                       std::to_string(draft.options.pool_size + overflow) + ", but scale_limit is " +
                                       std::to_string(draft.options.scale_limit) + "; set only one of them");
  }
  if (has_limit) {
    draft.max_overflow.reset();
  } else if (has_overflow) {
    draft.max_overflow = overflow;
  }
}

}  // namespace

void read_pool(Section& section, PoolDraft& draft) {
  PoolOptions& options = draft.options;
  section.whole("pool_size", options.pool_size, {0, most_sandboxes});
  read_scale(section, draft);
  std::uint32_t tenant_limit = 0;
  section.whole("tenant_limit", tenant_limit, {1, most_sandboxes});
  if (section.has("tenant_limit")) options.tenant_limit = tenant_limit;
  section.duration("idle_timeout", options.idle_timeout, {0ms});
  section.duration("running_timeout", options.running_timeout, {1ms});
  section.whole("max_uses", options.max_uses, {1, most_uses});
  section.choice("reuse", options.reuse, {{"reset", Reuse::reset}, {"never", Reuse::never}});
  section.choice("at_limit", options.at_limit, {{"wait", AtLimit::wait}, {"fail", AtLimit::fail}});
  section.duration("wait_timeout", options.wait_timeout, {0ms});
  section.whole("max_waiting", options.max_waiting, {0, most_waiting});
  section.duration("reset_timeout", options.reset_timeout, {1ms, 1h});
  section.duration("health_interval", options.health_interval, {100ms});
}

Result<PoolOptions> finished_pool(const PoolDraft& draft) {
  PoolOptions options = draft.options;
  if (draft.max_overflow) options.scale_limit = options.pool_size + *draft.max_overflow;
  const auto refused = [](std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); };
  if (options.scale_limit < 1)
    return refused("pool_size and max_overflow are both 0, so the pool could never have a sandbox");
  if (options.scale_limit > most_sandboxes) {
    return refused("pool_size plus max_overflow is more than " + std::to_string(most_sandboxes) + " sandboxes");
  }
  if (options.pool_size > options.scale_limit) {
    return refused("pool_size is " + std::to_string(options.pool_size) + " but scale_limit is only " +
                   std::to_string(options.scale_limit) + "; raise scale_limit or set max_overflow instead");
  }
  return options;
}

}  // namespace cloche::config
