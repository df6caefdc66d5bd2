#include "backend/oci/root/uid_ranges.hpp"

#include <charconv>
#include <optional>

#include "core/ids.hpp"

namespace cloche::oci {

namespace {

std::optional<std::uint32_t> slot_of(std::string_view name) {
  std::uint32_t slot = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), slot);
  if (error != std::errc{} || end != name.data() + name.size() || slot >= UidRange::slots) return std::nullopt;
  return slot;
}

std::uint32_t random_slot() {
  std::uint32_t number = 0;
  const std::string hex = random_hex(4);
  std::from_chars(hex.data(), hex.data() + hex.size(), number, 16);
  return number % UidRange::slots;
}

}  // namespace

UidRanges::UidRanges(std::string directory, std::string instance)
    : files_(std::move(directory), instance), instance_(std::move(instance)) {}

Result<UidRange> UidRanges::claim(const std::string& sandbox) const {
  // Starting anywhere, two who claim at once rarely try the same.
  const std::uint32_t start = random_slot();
  const auto slot_at = [start](std::size_t i) { return (start + static_cast<std::uint32_t>(i)) % UidRange::slots; };
  CLOCHE_TRY(const auto claimed,
             files_.claim_first(UidRange::slots, [&](std::size_t i) { return std::to_string(slot_at(i)); }, sandbox));
  if (claimed) return UidRange{slot_at(*claimed)};
  return fail(ErrorCode::limit_reached, "all " + std::to_string(UidRange::slots) +
                                            " uid ranges of this host are in use (" + files_.directory() + ")");
}

Status UidRanges::release(UidRange range, const std::string& sandbox) const {
  return files_.release(std::to_string(range.slot), sandbox);
}

Result<std::vector<UidRanges::Claim>> UidRanges::claims() const {
  std::vector<Claim> ours;
  CLOCHE_TRY(auto all, all_claims());
  for (OwnedClaim& each : all) {
    if (each.owner == instance_) ours.push_back(std::move(each.claim));
  }
  return ours;
}

Result<std::vector<UidRanges::OwnedClaim>> UidRanges::all_claims() const {
  std::vector<OwnedClaim> all;
  CLOCHE_TRY(auto claims, files_.all());
  for (ClaimFiles::Claim& each : claims) {
    if (const auto slot = slot_of(each.name)) {
      all.push_back({std::move(each.owner), {UidRange{*slot}, std::move(each.holder)}});
    }
  }
  return all;
}

Result<std::uint32_t> UidRanges::taken() const {
  CLOCHE_TRY(const auto all, all_claims());
  return static_cast<std::uint32_t>(all.size());
}

}  // namespace cloche::oci
