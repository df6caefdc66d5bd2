#include "backend/oci/root/uid_ranges.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>

#include "backend/oci/files.hpp"
#include "core/ids.hpp"

namespace cloche::oci {

namespace {

std::string owner_line(const std::string& instance, const std::string& sandbox) {
  return instance + " " + sandbox + "\n";
}

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
    : directory_(std::move(directory)), instance_(std::move(instance)) {}

Result<UidRange> UidRanges::claim(const std::string& sandbox) const {
  CLOCHE_CHECK(make_directory(directory_, 0700));
  const std::string draft = directory_ + "/.claim-" + random_hex(8);
  CLOCHE_CHECK(write_file(draft, owner_line(instance_, sandbox), 0600));
  // Starting anywhere, two who claim at once rarely try the same; link() lets only one of them have it.
  const std::uint32_t start = random_slot();
  Result<UidRange> claimed =
      fail(ErrorCode::limit_reached,
           "all " + std::to_string(UidRange::slots) + " uid ranges of this host are in use (" + directory_ + ")");
  for (std::uint32_t i = 0; i < UidRange::slots; ++i) {
    const UidRange range{(start + i) % UidRange::slots};
    if (::link(draft.c_str(), (directory_ + "/" + std::to_string(range.slot)).c_str()) == 0) {
      claimed = range;
      break;
    }
    if (errno != EEXIST) {
      claimed = fail_errno("claim a uid range in " + directory_);
      break;
    }
  }
  ::unlink(draft.c_str());
  return claimed;
}

Status UidRanges::release(UidRange range, const std::string& sandbox) const {
  const std::string path = directory_ + "/" + std::to_string(range.slot);
  const auto owner = read_file(path);
  if (!owner && owner.error().code == ErrorCode::not_found) return {};
  if (!owner) return fail(owner.error());
  if (*owner != owner_line(instance_, sandbox)) return {};
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail_errno("release uid range " + path);
  return {};
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
  const auto names = list_directory(directory_);
  if (!names && names.error().code == ErrorCode::not_found) return all;
  if (!names) return fail(names.error());
  for (const std::string& name : *names) {
    const auto line = read_file(directory_ + "/" + name);
    const auto space = line ? line->find(' ') : std::string::npos;
    if (space == std::string::npos) continue;
    const std::string owner = line->substr(0, space);
    const auto slot = slot_of(name);
    if (!slot) {
      // A draft of ours that a crash left behind.
      if (owner == instance_) ::unlink((directory_ + "/" + name).c_str());
      continue;
    }
    std::string sandbox = line->substr(space + 1);
    if (!sandbox.empty() && sandbox.back() == '\n') sandbox.pop_back();
    all.push_back({owner, {UidRange{*slot}, std::move(sandbox)}});
  }
  return all;
}

Result<std::uint32_t> UidRanges::taken() const {
  const auto names = list_directory(directory_);
  if (!names && names.error().code == ErrorCode::not_found) return 0;
  if (!names) return fail(names.error());
  std::uint32_t count = 0;
  for (const std::string& name : *names) count += slot_of(name) ? 1 : 0;
  return count;
}

}  // namespace cloche::oci
