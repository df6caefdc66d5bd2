#include "backend/oci/belongings.hpp"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "backend/oci/files.hpp"
#include "backend/oci/root/mountinfo.hpp"
#include "backend/oci/sandbox_maker.hpp"

namespace cloche::oci {

namespace {

// For one sandbox of several, so that one that cannot be removed does not delay the start.
constexpr std::chrono::seconds former_timeout{5};

Result<std::vector<std::string>> list_if_there(const std::string& directory) {
  auto names = list_directory(directory);
  if (!names && names.error().code == ErrorCode::not_found) return std::vector<std::string>{};
  return names;
}

// Innermost first, as they must be unmounted.
Result<std::vector<std::string>> mounts_below(const std::string& directory) {
  CLOCHE_TRY(const std::string text, read_file("/proc/self/mountinfo"));
  std::vector<std::string> found;
  for (const MountedPlace& place : parse_mountinfo(text)) {
    if (place.mount_point.starts_with(directory + "/")) found.push_back(place.mount_point);
  }
  return std::vector<std::string>(found.rbegin(), found.rend());
}

Status add_directories(const Host& host, std::vector<Belonging>& all) {
  const std::string& run_dir = host.options().run_dir;
  CLOCHE_TRY(const auto owners, list_if_there(run_dir));
  for (const std::string& owner : owners) {
    const std::string directory = run_dir + "/" + owner;
    // Beside the owners' directories are files and directories that all share.
    if (!path_exists(directory + "/sandboxes")) continue;
    CLOCHE_TRY(const auto sandboxes, list_if_there(directory + "/sandboxes"));
    if (sandboxes.empty()) all.push_back({owner, "directory", directory});
    for (const std::string& id : sandboxes) all.push_back({owner, "directory", directory + "/sandboxes/" + id});
    CLOCHE_TRY(const auto mounts, mounts_below(directory));
    for (const std::string& mount : mounts) all.push_back({owner, "mount", mount});
  }
  return {};
}

}  // namespace

Result<std::vector<Belonging>> find_belongings(const Host& host) {
  std::vector<Belonging> all;
  if (host.cgroups()) {
    for (const auto& each : host.cgroups()->all_directories()) all.push_back({each.instance, "cgroup", each.path});
  }
  CLOCHE_TRY(const auto claims, host.uids().all_claims());
  for (const auto& each : claims) {
    all.push_back({each.owner, "uid range", std::to_string(each.claim.range.slot) + " (" + each.claim.sandbox + ")"});
  }
  CLOCHE_TRY(const auto lent, host.gpus().lending().all());
  for (const auto& each : lent) all.push_back({each.owner, "GPU", each.name + " (" + each.holder + ")"});
  CLOCHE_CHECK(add_directories(host, all));
  return all;
}

Status remove_belongings(Host& host, const CancelToken& token) {
  CLOCHE_TRY(const auto with_directory, list_if_there(host.sandboxes_directory()));
  std::set<std::string> ids(with_directory.begin(), with_directory.end());
  if (host.cgroups()) {
    for (const std::string& id : host.cgroups()->ids()) ids.insert(id);
  }
  CLOCHE_TRY(const auto claims, host.uids().claims());
  for (const auto& claim : claims) ids.insert(claim.sandbox);
  CLOCHE_TRY(const auto borrowers, host.gpus().lending().borrowers());
  ids.insert(borrowers.begin(), borrowers.end());
  CLOCHE_TRY(const auto mounts, mounts_below(host.instance_directory()));
  for (const std::string& mount : mounts) {
    if (::umount2(mount.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) return fail_errno("unmount " + mount);
  }
  Status result;
  for (const std::string& id : ids) {
    CLOCHE_CHECK(token.check("remove " + id));
    const Status removed = remove_sandbox(host, id, token.deadline());
    if (!removed && result) result = removed;  // one that resists must not cost the others
  }
  if (host.cgroups()) host.cgroups()->remove_empty();
  if (::rmdir(host.sandboxes_directory().c_str()) == 0) ::rmdir(host.instance_directory().c_str());
  return result;
}

Status remove_former(const Host& host, const std::vector<std::string>& names, const CancelToken& token) {
  OciOptions options = host.options();
  options.instance = InstanceId{options.instance.name};
  if (options.instance.value.empty() || options.instance.value == host.options().instance.value) return {};
  Host former(std::move(options));
  CLOCHE_TRY(const auto ids, list_if_there(former.sandboxes_directory()));
  Status result;
  for (const std::string& id : ids) {
    const auto record = read_record(former.files_of(id).record);
    const bool is_ours = record && record->owner.empty() && record->id.value == id &&
                         std::ranges::find(names, record->spec.name) != names.end();
    if (!is_ours) continue;
    const Status removed = remove_sandbox(former, id, Deadline::after(former_timeout).sooner(token.deadline()));
    if (!removed && result) result = removed;  // one that resists must not cost the others
  }
  return result;
}

}  // namespace cloche::oci
