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

bool host_has_disks(const EngineOptions& engine) {
  if (!traits_of(engine.backend).has_disks) return false;
  disk::DiskStore disks(disk::with_directory(engine.disk, engine.state_dir));
  const Status works = disks.probe(CancelToken(Deadline::after(longest_probe)));
  if (!works) log::warn("sessions keep their files in memory, not on disk: {}", works.error().message);
  return works.has_value();
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
  } else if (origin == SessionProfile::made && host_has_disks(engine)) {
    spec.workspace = WorkspaceKind::disk;
    spec.disk_size = std::min(spec.disk_size, engine.disk.max_size);
  }
  if (origin == SessionProfile::made && spec.workspace == WorkspaceKind::disk)
    spec.limits.file_size = file_size_on_disk;
}

}  // namespace cloche::server
