#include "backend/oci/recovery.hpp"

#include <algorithm>

#include "backend/oci/files.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"

namespace cloche::oci {

namespace {

bool is_kept_by_another(const SandboxRecord& record, const Host& host) {
  return record.boot == host.boot() && record.keeper != identify_self() && is_alive(record.keeper);
}

bool is_living(const SandboxRecord& record, const Host& host) {
  if (record.state != SandboxRecord::State::running || record.boot != host.boot() || !is_alive(record.first))
    return false;
  return host.cgroups()->at(record.id.value).holds(record.first.pid).value_or(false);
}

Result<MadeSandbox> meet_again(const Host& host, SandboxRecord record) {
  const SandboxFiles files = host.files_of(record.id.value);
  MadeSandbox met;
  CLOCHE_TRY(met.ends, open_server_ends(files.to_agent, files.from_agent));
  record.keeper = identify_self();
  CLOCHE_CHECK(write_record(files.record, record));
  fault_point("backend.recover.met");
  met.record = std::move(record);
  return met;
}

// Those with a run directory.
Result<std::vector<std::string>> journalled(const Host& host) {
  auto names = list_directory(host.sandboxes_directory());
  if (!names && names.error().code == ErrorCode::not_found) return std::vector<std::string>{};
  return names;
}

// Every id that a cgroup or a uid range still bears.
Result<std::vector<std::string>> orphans(const Host& host) {
  std::vector<std::string> ids = host.cgroups()->ids();
  CLOCHE_TRY(const auto claims, host.uids().claims());
  for (const auto& claim : claims) ids.push_back(claim.sandbox);
  CLOCHE_TRY(const auto with_journal, journalled(host));
  std::erase_if(ids, [&](const std::string& id) { return std::ranges::find(with_journal, id) != with_journal.end(); });
  return ids;
}

}  // namespace

Result<std::vector<MadeSandbox>> recover_sandboxes(Host& host, const Watch& watch) {
  if (!host.cgroups()) return fail(host.cgroups().error());
  std::vector<MadeSandbox> living;
  Status trouble;
  const auto remove = [&](const std::string& id) {
    const Status removed = remove_sandbox(host, id, watch.deadline());
    if (!removed) {
      log::error("recover: sandbox {}: {}", id, removed.error().message);
      if (trouble) trouble = removed;
    }
  };
  CLOCHE_TRY(const auto ids, journalled(host));
  for (const std::string& id : ids) {
    CLOCHE_CHECK(watch.check("recover"));
    auto record = read_record(host.files_of(id).record);
    if (record && record->id.value == id) {
      if (!record->owner.empty() && record->owner != host.options().instance.value) {
        log::warn("recover: sandbox {} belongs to {} and is left alone", id, record->owner);
        continue;
      }
      if (is_kept_by_another(*record, host)) {
        log::warn("recover: sandbox {} is kept by process {}, which is alive, and is left alone", id,
                  record->keeper.pid);
        continue;
      }
      if (is_living(*record, host)) {
        auto met = meet_again(host, std::move(*record));
        if (met) {
          living.push_back(std::move(*met));
          continue;
        }
        log::warn("recover: sandbox {} lives but cannot be reached: {}", id, met.error().message);
      }
    }
    remove(id);
  }
  CLOCHE_TRY(const auto left, orphans(host));
  for (const std::string& id : left) remove(id);
  // One that resists must not cost the others: it is tried again next time.
  if (!trouble && living.empty()) return fail(std::move(trouble).error().at("recover"));
  return living;
}

}  // namespace cloche::oci
