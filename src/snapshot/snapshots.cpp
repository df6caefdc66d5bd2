#include "snapshot/snapshots.hpp"

#include <boost/asio/post.hpp>

#include "core/async/blocking.hpp"
#include "core/fault_point.hpp"
#include "sandbox/spec.hpp"

namespace cloche::snapshot {

namespace {

// Each needs a few megabytes of memory, and waits for its sandbox most of the time.
constexpr std::uint32_t most_under_way = 16;
constexpr std::uint32_t most_of_tenant_under_way = 2;
// So much of an archive is handed to a thread at a time.
constexpr std::size_t batch_size = std::size_t{1} << 20;
// More than any snapshot has, with the directories that names imply; the store has bounded them.
constexpr std::uint64_t most_unpacked = 100'000'000;

// Its end may remove files, and so happens on a thread.
template <class T>
std::shared_ptr<T> ended_on(asio::thread_pool& threads, std::unique_ptr<T> owned) {
  return std::shared_ptr<T>(owned.release(),
                            [&threads](T* ended) { asio::post(threads, [last = std::unique_ptr<T>(ended)] {}); });
}

Allowance allowance_of(const auth::QuotaLimits& limits) {
  Allowance allowance;
  allowance.snapshots = limits.snapshots;
  if (limits.snapshot_bytes) allowance.bytes = Bytes{*limits.snapshot_bytes};
  return allowance;
}

// What is mounted below a directory, as paths in it.
std::vector<std::string> mounted_below(const LiveSandbox& sandbox, const std::string& directory) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& target) {
    if (target.starts_with(directory + "/")) paths.push_back(target.substr(directory.size() + 1));
  };
  for (const VolumeMount& each : sandbox.volumes()) add(each.target);
  for (const Mount& each : sandbox.spec().mounts) add(each.target);
  return paths;
}

struct Directories {
  std::string work;
  std::string home;
};

Directories directories_of(const pool::Lease& lease) { return {lease.binding().work_dir, home_of(lease->spec())}; }

// Where programs may be root, files that only root can read are kept, too.
Files reader_of(LiveSandbox& sandbox) {
  const auto root = sandbox.user("root");
  return root ? sandbox.files_of(*root) : sandbox.files();
}

// Hands an archive to the intake, some of it at a time.
Task<Status> take_tree(asio::thread_pool& threads, std::shared_ptr<Taking> taking, Place place,
                       std::shared_ptr<LiveSandbox> sandbox, std::string directory, Deadline deadline) {
  taking->begin(place, mounted_below(*sandbox, directory));
  std::string batch;
  const auto hand_over = [&]() -> Task<Status> {
    auto feed = [taking, bytes = std::exchange(batch, {})] { return taking->feed(bytes); };
    co_return co_await run_blocking(threads, std::move(feed));
  };
  Files::Sink sink = [&](std::string bytes) -> Task<Status> {
    batch += bytes;
    if (batch.size() < batch_size) co_return Status{};
    co_return co_await hand_over();
  };
  FilePath top(std::move(directory));
  auto packed = co_await reader_of(*sandbox).pack(std::move(top), std::move(sink), deadline);
  if (!packed) co_return packed;
  auto rest = co_await hand_over();
  if (!rest) co_return rest;
  auto end = [taking] { return taking->end(); };
  co_return co_await run_blocking(threads, std::move(end));
}

Task<Result<SnapshotInfo>> take_files(asio::thread_pool& threads, std::shared_ptr<Taking> taking,
                                      std::shared_ptr<LiveSandbox> sandbox, Directories places, Deadline deadline) {
  CLOCHE_CO_CHECK(co_await take_tree(threads, taking, Place::work, sandbox, places.work, deadline));
  if (places.home != places.work) {
    CLOCHE_CO_CHECK(co_await take_tree(threads, taking, Place::home, sandbox, places.home, deadline));
  }
  auto commit = [taking] { return taking->commit(); };
  co_return co_await run_blocking(threads, std::move(commit));
}

Task<Status> restore_tree(asio::thread_pool& threads, std::shared_ptr<Reading> reading, Place place,
                          std::shared_ptr<LiveSandbox> sandbox, std::string directory, Deadline deadline) {
  Files::Source source = [&threads, reading, place]() -> Task<Result<std::string>> {
    auto next = [reading, place] { return reading->next(place); };
    co_return co_await run_blocking(threads, std::move(next));
  };
  TarCaps caps;
  caps.entries = most_unpacked;
  caps.read_only = WriteOptions::ReadOnly::replace;
  FilePath top(std::move(directory));
  auto unpacked = co_await sandbox->files().unpack(std::move(top), std::move(source), caps, deadline);
  if (!unpacked) co_return fail(std::move(unpacked).error().at("restore the snapshot"));
  co_return Status{};
}

}  // namespace

// A place among those that are being taken.
class Snapshots::Turn {
 public:
  static Result<Turn> of(Snapshots& owner, const std::string& tenant) {
    const auto found = owner.under_way_.find(tenant);
    const bool many = found != owner.under_way_.end() && found->second >= most_of_tenant_under_way;
    if (many || owner.all_under_way_ >= most_under_way) {
      return fail(ErrorCode::limit_reached, "too many snapshots are being taken; retry in a moment");
    }
    return Turn(owner, tenant);
  }
  Turn(Turn&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), tenant_(std::move(other.tenant_)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (owner_ == nullptr) return;
    --owner_->all_under_way_;
    const auto count = owner_->under_way_.find(tenant_);
    if (--count->second == 0) owner_->under_way_.erase(count);
  }

 private:
  Turn(Snapshots& owner, std::string tenant) : owner_(&owner), tenant_(std::move(tenant)) {
    ++owner_->under_way_[tenant_];
    ++owner_->all_under_way_;
  }
  Snapshots* owner_;
  std::string tenant_;
};

Snapshots::Snapshots(std::shared_ptr<SnapshotStore> store, const auth::Quotas& quotas)
    : store_(std::move(store)), quotas_(quotas) {}

Snapshots::~Snapshots() { threads_.join(); }

Task<Result<SnapshotInfo>> Snapshots::take(auth::AuthorizedTenant tenant, TakeRequest request, pool::Lease& lease,
                                           Deadline deadline) {
  CLOCHE_CO_TRY(const Turn turn, Turn::of(*this, tenant.name()));
  const std::shared_ptr<LiveSandbox> sandbox = lease.shared();
  const Directories places = directories_of(lease);
  NewSnapshot wanted;
  wanted.tenant = tenant.name();
  wanted.name = std::move(request.name);
  wanted.session = std::move(request.session);
  wanted.profile = std::move(request.profile);
  wanted.lifetime = request.lifetime;
  auto begin = [store = store_, wanted = std::move(wanted),
                allowance = allowance_of(quotas_.limits_of(tenant.name()))] { return store->take(wanted, allowance); };
  auto begun = co_await run_blocking(threads_, std::move(begin));
  if (!begun) co_return fail(std::move(begun).error());
  const auto taking = ended_on(threads_, std::move(*begun));
  auto taken = co_await take_files(threads_, taking, sandbox, places, deadline);
  if (taken) co_return taken;
  // Nothing of it counts any more when the caller gets the error.
  auto abandon = [taking] {
    taking->abandon();
    return Status();
  };
  (void)co_await run_blocking(threads_, std::move(abandon));
  co_return taken;
}

Task<Status> Snapshots::restore(auth::AuthorizedTenant tenant, std::string which, pool::Lease& lease,
                                Deadline deadline) {
  const std::shared_ptr<LiveSandbox> sandbox = lease.shared();
  const Directories places = directories_of(lease);
  auto open = [store = store_, tenant = tenant.name(), which = std::move(which)] { return store->read(tenant, which); };
  auto opened = co_await run_blocking(threads_, std::move(open));
  if (!opened) co_return fail(std::move(opened).error());
  const auto reading = ended_on(threads_, std::move(*opened));
  CLOCHE_CO_CHECK(fallible_point<"snapshot.restore.begun">(deadline));
  // The work directory last: where the home directory is the same, its files win.
  if (reading->has_home()) {
    CLOCHE_CO_CHECK(co_await restore_tree(threads_, reading, Place::home, sandbox, places.home, deadline));
  }
  co_return co_await restore_tree(threads_, reading, Place::work, sandbox, places.work, deadline);
}

Task<Result<SnapshotList>> Snapshots::list(std::optional<std::string> tenant) {
  auto work = [store = store_, tenant = std::move(tenant)]() -> Result<SnapshotList> {
    SnapshotList list;
    list.snapshots = store->list(tenant);
    list.stored = store->stored(tenant);
    return list;
  };
  co_return co_await run_blocking(threads_, std::move(work));
}

Task<Result<SnapshotInfo>> Snapshots::find(auth::AuthorizedTenant tenant, std::string which) {
  auto work = [store = store_, tenant = tenant.name(), which = std::move(which)] { return store->find(tenant, which); };
  co_return co_await run_blocking(threads_, std::move(work));
}

Task<Result<std::string>> Snapshots::id_of(auth::AuthorizedTenant tenant, std::string which) {
  auto work = [store = store_, tenant = tenant.name(), which = std::move(which)] {
    return store->id_of(tenant, which);
  };
  co_return co_await run_blocking(threads_, std::move(work));
}

Task<Status> Snapshots::remove(auth::AuthorizedTenant tenant, std::string which) {
  auto work = [store = store_, tenant = tenant.name(), which = std::move(which)] {
    return store->remove(tenant, which);
  };
  co_return co_await run_blocking(threads_, std::move(work));
}

}  // namespace cloche::snapshot
