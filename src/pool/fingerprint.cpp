#include "pool/fingerprint.hpp"

#include <fmt/format.h>

namespace cloche::pool {

namespace {

// FNV-1a: it distinguishes versions of a configuration and does not protect a secret.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const unsigned char c : text) value = (value ^ c) * 0x100000001b3;
  return value;
}

}  // namespace

std::string fingerprint_of(const Profile& profile) {
  const SandboxSpec& spec = profile.sandbox;
  const Limits& limits = spec.limits;
  // Each text with its length in front, so that no two lists read the same.
  const auto text = [](const std::string& s) { return fmt::format("{}:{};", s.size(), s); };
  std::string all = text(spec.image) + text(spec.runtime) + text(spec.work_dir) + text(spec.hostname);
  all += fmt::format("{},{},{};", spec.uid.value_or(0), spec.gid, static_cast<int>(spec.egress));
  all += fmt::format("{},{},{},{};", static_cast<int>(spec.workspace), spec.disk_size.count, spec.gpus.all,
                     spec.gpus.count);
  for (const std::string& id : spec.gpus.ids) all += text(id);
  // Only what differs from the usual, so that sandboxes of an older version keep their fingerprint.
  if (spec.user != SandboxSpec().user) all += "user" + text(spec.user);
  if (spec.root) all += "root;";
  all += fmt::format("{},{},{},{},{},{},{},{};", limits.memory.count, limits.cpus, limits.pids, limits.file_size.count,
                     limits.open_files, limits.work_dir.count, limits.tmp_dir.count, limits.shm_dir.count);
  for (const Mount& mount : spec.mounts) {
    all += text(mount.source) + text(mount.target) + fmt::format("{};", static_cast<int>(mount.access));
  }
  all += "|";
  for (const auto& [name, value] : spec.labels) all += text(name) + text(value);
  all += "|";
  for (const ZygoteSpec& zygote : profile.zygotes) {
    all += text(zygote.name) + text(zygote.interpreter);
    for (const std::string& module : zygote.imports) all += text(module);
    all += "|";
  }
  if (profile.scripts) {
    all += "scripts" + text(profile.scripts->interpreter);
    for (const std::string& module : profile.scripts->imports) all += text(module);
  }
  return fmt::format("{:016x}", hash(all));
}

}  // namespace cloche::pool
