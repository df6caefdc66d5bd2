#include "gpu/lending.hpp"

#include <algorithm>

namespace cloche::gpu {

namespace {

std::string names_of(const std::vector<Gpu>& gpus) {
  std::string names;
  for (const Gpu& gpu : gpus) {
    names += (names.empty() ? "" : ", ") + gpu.name;
    for (const std::string& other : gpu.other_names) names += " (" + other + ")";
  }
  return names.empty() ? "none" : names;
}

Result<Gpu> find_gpu(const Inventory& inventory, const std::string& id) {
  std::vector<Gpu> found;
  for (const Gpu& gpu : inventory.gpus) {
    if (gpu.is_called(id)) found.push_back(gpu);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return fail(ErrorCode::unsupported,
                "this host has no GPU '" + id + "'; it has: " + names_of(inventory.gpus) + "; see `cloche doctor`");
  }
  return fail(ErrorCode::invalid_argument, "more than one GPU is called '" + id + "'; write " + found.front().kind +
                                               "=" + id + " or " + found.back().kind + "=" + id);
}

// Those that the request names; nothing for a count.
Result<std::vector<Gpu>> named_gpus(const Inventory& inventory, const GpuRequest& request) {
  if (request.all) return inventory.gpus;
  std::vector<Gpu> named;
  for (const std::string& id : request.ids) {
    CLOCHE_TRY(Gpu gpu, find_gpu(inventory, id));
    const bool is_twice = std::ranges::any_of(named, [&](const Gpu& other) { return other.key() == gpu.key(); });
    if (!is_twice) named.push_back(std::move(gpu));
  }
  return named;
}

std::unexpected<Error> too_few(const Inventory& inventory, std::size_t wanted) {
  std::string message = "this host has " + std::to_string(inventory.gpus.size()) + " GPUs, and the sandbox requests " +
                        std::to_string(wanted);
  if (!inventory.problems.empty()) message += ": " + inventory.problems.front();
  return fail(ErrorCode::unsupported, message + "; see `cloche doctor`");
}

}  // namespace

Lending::Lending(std::string directory, std::string instance)
    : files_(std::move(directory), instance), instance_(std::move(instance)) {}

Result<bool> Lending::lend_one(const Gpu& gpu, const std::string& sandbox) const {
  CLOCHE_TRY(const auto claimed, files_.claim_first(1, [&](std::size_t) { return gpu.key(); }, sandbox));
  return claimed.has_value();
}

Result<std::vector<Gpu>> Lending::lend(const Inventory& inventory, const GpuRequest& request,
                                       const std::string& sandbox) const {
  if (request.empty()) return std::vector<Gpu>{};
  CLOCHE_TRY(const std::vector<Gpu> named, named_gpus(inventory, request));
  const bool by_count = named.empty() && !request.all;
  const std::size_t wanted = by_count ? request.count : named.size();
  if (inventory.gpus.size() < wanted || inventory.gpus.empty()) {
    return too_few(inventory, std::max<std::size_t>(wanted, 1));
  }
  std::vector<Gpu> lent;
  Result<bool> is_ours = true;
  for (const Gpu& gpu : by_count ? inventory.gpus : named) {
    if (lent.size() == wanted) break;
    is_ours = lend_one(gpu, sandbox);
    if (!is_ours) break;
    if (*is_ours) {
      lent.push_back(gpu);
    } else if (!by_count) {
      break;
    }
  }
  if (lent.size() == wanted) return lent;
  CLOCHE_CHECK(take_back(sandbox));
  if (!is_ours) return fail(is_ours.error());
  return fail(ErrorCode::limit_reached, "too few GPUs are free: the sandbox requests " + std::to_string(wanted) +
                                            " of " + std::to_string(inventory.gpus.size()) +
                                            ", and others are lent; wait until a sandbox that has one is destroyed");
}

Status Lending::take_back(const std::string& sandbox) const {
  CLOCHE_TRY(const auto claims, files_.all());
  for (const ClaimFiles::Claim& claim : claims) {
    if (claim.owner == instance_ && claim.holder == sandbox) CLOCHE_CHECK(files_.release(claim.name, sandbox));
  }
  return {};
}

Result<std::vector<std::string>> Lending::borrowers() const {
  CLOCHE_TRY(const auto claims, files_.all());
  std::vector<std::string> sandboxes;
  for (const ClaimFiles::Claim& claim : claims) {
    const bool is_known = std::ranges::find(sandboxes, claim.holder) != sandboxes.end();
    if (claim.owner == instance_ && !is_known) sandboxes.push_back(claim.holder);
  }
  return sandboxes;
}

}  // namespace cloche::gpu
