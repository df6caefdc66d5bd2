#include "snapshot/taking.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/fault_point.hpp"

namespace cloche::snapshot {

namespace {

// One part of a stream; small pieces are put together.
constexpr std::size_t least_of_part = std::size_t{256} << 10;

}  // namespace

Taking::Taking(std::shared_ptr<SnapshotStore> store, std::shared_ptr<TenantSnapshots> tenant, Manifest manifest,
               Allowance allowance)
    : store_(std::move(store)), tenant_(std::move(tenant)), manifest_(std::move(manifest)), allowance_(allowance) {}

void Taking::leave() {
  is_done_ = true;
  if (manifest_.lifetime == Manifest::Lifetime::temporary) return;
  --tenant_->taking;
  tenant_->names_taken.erase(manifest_.info.name);
}

void Taking::abandon() {
  if (is_done_) return;
  if (is_named_) ::unlink((tenant_->manifests + "/" + manifest_.info.id).c_str());
  tenant_->shelf.release(manifest_.work);
  if (manifest_.home) tenant_->shelf.release(*manifest_.home);
  const std::lock_guard lock(store_->mutex_);
  leave();
}

void Taking::begin(Place place, std::vector<std::string> excluded) {
  Tree& tree = place == Place::work ? manifest_.work : manifest_.home.emplace();
  const IntakeLimits limits{.content = store_->options().max_size, .entries = store_->options().max_entries};
  intake_.emplace(limits, counts_, std::move(excluded),
                  [this, &tree](std::string_view piece) { return add(tree, piece); });
}

Status Taking::add(Tree& tree, std::string_view bytes) {
  if (++pieces_ > most_pieces) return fail(ErrorCode::limit_reached, "the snapshot has too many pieces");
  const Piece piece{.digest = sha256(bytes), .size = static_cast<std::uint32_t>(bytes.size())};
  // Room first: a reference that is not in the list would never be released.
  tree.reserve(tree.size() == tree.capacity() ? std::max<std::size_t>(64, tree.size() * 2) : tree.capacity());
  CLOCHE_CHECK(tenant_->shelf.add(piece, bytes, {allowance_.bytes, store_->options().least_free}));
  tree.push_back(piece);
  return {};
}

Result<SnapshotInfo> Taking::commit() {
  manifest_.info.files = counts_.entries;
  manifest_.info.size = Bytes{counts_.content};
  CLOCHE_CHECK(tenant_->shelf.sync());
  fault_point<"snapshot.take.pieces">();
  is_named_ = true;
  CLOCHE_CHECK(write_whole(tenant_->manifests, manifest_.info.id, write_manifest(manifest_)));
  fault_point<"snapshot.take.named">();
  CLOCHE_CHECK(sync_directory(tenant_->manifests));
  const std::lock_guard lock(store_->mutex_);
  tenant_->snapshots.emplace(manifest_.info.id, TenantSnapshots::Stored{manifest_.info, manifest_.lifetime});
  leave();
  return manifest_.info;
}

Reading::Reading(std::shared_ptr<TenantSnapshots> tenant, Manifest manifest)
    : tenant_(std::move(tenant)), manifest_(std::move(manifest)) {}

Reading::~Reading() {
  tenant_->shelf.release(manifest_.work);
  if (manifest_.home) tenant_->shelf.release(*manifest_.home);
}

Result<std::string> Reading::next(Place place) {
  const Tree& tree = place == Place::work ? manifest_.work : *manifest_.home;
  std::size_t& at = place == Place::work ? next_work_ : next_home_;
  std::string part;
  while (at < tree.size() && part.size() < least_of_part) {
    CLOCHE_TRY(std::string piece, tenant_->shelf.read(tree[at]));
    ++at;
    part = part.empty() ? std::move(piece) : part.append(piece);
  }
  return part;
}

}  // namespace cloche::snapshot
