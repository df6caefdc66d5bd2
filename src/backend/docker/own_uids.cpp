#include "backend/docker/own_uids.hpp"

#include <fmt/format.h>

#include <charconv>

#include "backend/docker/labels.hpp"
#include "core/ids.hpp"

namespace cloche::docker {

namespace {

// How often a uid is tried before the range counts as full.
constexpr int most_picks = 64;

std::uint32_t random_below(std::uint32_t count) {
  std::uint32_t number = 0;
  const std::string hex = random_hex(4);
  std::from_chars(hex.data(), hex.data() + hex.size(), number, 16);
  return number % count;
}

}  // namespace

HostUids OwnUids::range_for(const SandboxSpec& spec, Kernel kernel) const {
  const bool is_free = !spec.uid && spec.mounts.empty() && kernel == Kernel::shared;
  return is_free ? range_ : HostUids{0, 0};
}

// Containers that do not run count, too: they may be about to.
Task<Result<std::size_t>> OwnUids::count(std::uint32_t uid, Deadline deadline) {
  LabelMap wanted;
  wanted[labels::app] = "cloche";
  wanted[labels::uid] = std::to_string(uid);
  auto found = co_await list_containers(*engine_, std::move(wanted), deadline);
  if (!found) co_return fail(as_trouble_of_engine(std::move(found).error()));
  co_return found->size();
}

Task<Result<std::uint32_t>> OwnUids::pick(Deadline deadline) {
  for (int tries = 0; tries < most_picks; ++tries) {
    const std::uint32_t uid = range_.first + random_below(range_.count);
    CLOCHE_CO_TRY(const std::size_t others, co_await count(uid, deadline));
    if (others == 0) co_return uid;
  }
  co_return fail(ErrorCode::limit_reached,
                 fmt::format("no free uid found among {} from {}; remove sandboxes, or raise `uids` of `docker`",
                             range_.count, range_.first));
}

Task<Result<bool>> OwnUids::is_alone(std::uint32_t uid, Deadline deadline) {
  CLOCHE_CO_TRY(const std::size_t containers, co_await count(uid, deadline));
  co_return containers == 1;
}

}  // namespace cloche::docker
