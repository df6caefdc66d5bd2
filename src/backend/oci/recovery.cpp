#include "backend/oci/recovery.hpp"

#include <algorithm>
#include <optional>

#include "backend/oci/files.hpp"
#include "core/async/exceptions.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"

namespace cloche::oci {

namespace {

using namespace std::chrono_literals;

// For one sandbox, and for all together, before it is left to later tries. The dead go in milliseconds.
constexpr auto time_for_one = 5s;
constexpr auto time_for_all = 30s;
constexpr auto least_time = 100ms;

bool is_kept_by_another(const SandboxRecord& record, const Host& host) {
  return record.boot == host.boot() && record.keeper != identify_self() && is_alive(record.keeper);
}

bool is_living(const SandboxRecord& record, const Host& host) {
  if (record.state != SandboxRecord::State::running || record.boot != host.boot() || !is_alive(record.first))
    return false;
  return host.cgroups()->at(record.id.value).holds(record.first.pid).value_or(false);
}

Result<MadeSandbox> meet_again(Host& host, SandboxRecord record) {
  const SandboxFiles files = host.files_of(record.id.value);
  MadeSandbox met;
  // An earlier process may have frozen it; its agent has to respond.
  CLOCHE_CHECK(host.cgroups()->at(record.id.value).thaw(Deadline::after(time_for_one)));
  CLOCHE_TRY(met.ends, open_server_ends(files.to_agent, files.from_agent));
  record.keeper = identify_self();
  CLOCHE_CHECK(write_record(files.record, record));
  fault_point<"backend.recover.met">();
  if (record.spec.workspace == WorkspaceKind::disk) host.disks().note(record.id.value, record.spec.disk_size);
  met.record = std::move(record);
  return met;
}

// Those with a run directory.
Result<std::vector<std::string>> journalled(const Host& host) {
  auto names = list_directory(host.sandboxes_directory());
  if (!names && names.error().code == ErrorCode::not_found) return std::vector<std::string>{};
  return names;
}

// Every id that a cgroup, a uid range or a GPU still has.
Result<std::vector<std::string>> orphans(const Host& host) {
  std::vector<std::string> ids = host.cgroups()->ids();
  CLOCHE_TRY(const auto claims, host.uids().claims());
  for (const auto& claim : claims) ids.push_back(claim.sandbox);
  CLOCHE_TRY(const auto borrowers, host.gpus().lending().borrowers());
  ids.insert(ids.end(), borrowers.begin(), borrowers.end());
  CLOCHE_TRY(const auto with_journal, journalled(host));
  std::erase_if(ids, [&](const std::string& id) { return std::ranges::find(with_journal, id) != with_journal.end(); });
  return ids;
}

// One that resists must not cost the others, nor the start of a server: each has some seconds, and all together as many
// as a start can take. What is left is tried again beside everything else.
void remove_all(Host& host, const std::vector<std::string>& ids, Deadline deadline) {
  const Deadline all = Deadline::after(time_for_all).sooner(deadline);
  for (const std::string& id : ids) {
    const auto timeout = std::clamp<Deadline::Clock::duration>(all.left(), least_time, time_for_one);
    remove_or_note(host, id, Deadline::after(timeout));
  }
}

// The sandbox, if it is alive and can be reached. Ids of those that are to be removed are added to `dead`.
std::optional<MadeSandbox> meet_or_list(Host& host, const std::string& id, std::vector<std::string>& dead) {
  auto record = read_record(host.files_of(id).record);
  if (!record || record->id.value != id) {
    dead.push_back(id);
    return std::nullopt;
  }
  if (!record->owner.empty() && record->owner != host.options().instance.value) {
    log::warn("recover: sandbox {} belongs to {} and is left alone", id, record->owner);
    return std::nullopt;
  }
  if (is_kept_by_another(*record, host)) {
    log::warn("recover: sandbox {} is used by the running process {} and is left alone", id, record->keeper.pid);
    return std::nullopt;
  }
  if (is_living(*record, host)) {
    auto met = meet_again(host, std::move(*record));
    if (met) return std::move(*met);
    log::warn("recover: sandbox {} is running but cannot be reached: {}", id, met.error().message);
  }
  dead.push_back(id);
  return std::nullopt;
}

}  // namespace

Result<std::vector<MadeSandbox>> recover_sandboxes(Host& host, const CancelToken& token) {
  if (!host.cgroups()) return fail(host.cgroups().error());
  CLOCHE_TRY(const auto ids, journalled(host));
  std::vector<MadeSandbox> living;
  std::vector<std::string> dead;
  // The living first: they do not wait for what has to be removed.
  for (const std::string& id : ids) {
    try {
      if (auto met = meet_or_list(host, id, dead)) living.push_back(std::move(*met));
    } catch (...) {
      [[maybe_unused]] const Error logged = to_error("recover sandbox " + id, std::current_exception());
      dead.push_back(id);
    }
  }
  if (auto left = orphans(host)) {
    dead.insert(dead.end(), left->begin(), left->end());
  } else {
    log::error("recover: cannot search for resources without a sandbox: {}", left.error().message);
  }
  remove_all(host, dead, token.deadline());
  return living;
}

}  // namespace cloche::oci
