#include "server/session_workspace.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "disk/store.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::server {

namespace {

using namespace std::chrono_literals;

constexpr auto longest_probe = 15s;
// Archives and libraries that package managers download.
constexpr Bytes file_size_on_disk = mib(1024);

// Less is no better than memory.
constexpr Bytes least_of_session = mib(256);

// The size of a disk if the host can have as many as there are sandboxes, all of them full.
Result<Bytes> size_for(std::uint32_t sandboxes, Bytes wanted, const EngineOptions& engine) {
  disk::DiskStore disks(disk::with_directory(engine.disk, engine.state_dir));
  CLOCHE_CHECK(disks.probe(CancelToken(Deadline::after(longest_probe))));
  CLOCHE_TRY(const disk::Ledger::Room room, disks.room());
  const Bytes all = std::min(room.most, room.available);
  const Bytes each = mib((all.count >> 20) / std::max<std::uint32_t>(sandboxes, 1));
  const Bytes size = std::min({wanted, each, engine.disk.max_size});
  if (size >= least_of_session) return size;
  return fail(ErrorCode::limit_reached, "each of " + std::to_string(sandboxes) + " sandboxes could have a disk of " +
                                            to_string(size) + "; set disk.dir, sessions.most or sessions.disk_size");
}

void put_on_disk_if_possible(Profile& profile, const EngineOptions& engine) {
  if (!traits_of(engine.backend).has_disks) return;
  const auto size = size_for(profile.pool.scale_limit, profile.sandbox.disk_size, engine);
  if (!size) return log::warn("sessions keep their files in memory, not on disk: {}", size.error().message);
  profile.sandbox.workspace = WorkspaceKind::disk;
  profile.sandbox.disk_size = *size;
}

}  // namespace

void settle_session_workspace(std::vector<Profile>& profiles, const config::SessionSettings& sessions,
                              SessionProfile origin, const EngineOptions& engine) {
  const auto found = std::ranges::find(profiles, sessions.profile, &Profile::name);
  if (found == profiles.end()) return;
  SandboxSpec& spec = found->sandbox;
  if (sessions.disk_size) spec.disk_size = *sessions.disk_size;
  if (sessions.workspace) {
    spec.workspace = *sessions.workspace;
  } else if (origin == SessionProfile::made) {
    put_on_disk_if_possible(*found, engine);
  }
  if (origin == SessionProfile::made && spec.workspace == WorkspaceKind::disk)
    spec.limits.file_size = file_size_on_disk;
}

}  // namespace cloche::server
