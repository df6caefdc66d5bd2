#include "sandbox/spec_text.hpp"

#include "json/lenient_json.hpp"

namespace cloche {

namespace {

json::object write_limits(const Limits& limits) {
  return {{"memory", limits.memory.count},
          {"cpus", limits.cpus},
          {"pids", limits.pids},
          {"file_size", limits.file_size.count},
          {"open_files", limits.open_files},
          {"work_dir", limits.work_dir.count},
          {"tmp_dir", limits.tmp_dir.count},
          {"shm_dir", limits.shm_dir.count}};
}

Bytes read_bytes(const json::value* found) { return {static_cast<std::uint64_t>(json::number(found))}; }

Limits read_limits(const json::value& said) {
  Limits limits;
  limits.memory = read_bytes(json::find(said, "memory"));
  limits.cpus = json::real(json::find(said, "cpus"));
  limits.pids = static_cast<std::uint32_t>(json::number(json::find(said, "pids")));
  limits.file_size = read_bytes(json::find(said, "file_size"));
  limits.open_files = static_cast<std::uint64_t>(json::number(json::find(said, "open_files")));
  limits.work_dir = read_bytes(json::find(said, "work_dir"));
  limits.tmp_dir = read_bytes(json::find(said, "tmp_dir"));
  limits.shm_dir = read_bytes(json::find(said, "shm_dir"));
  return limits;
}

}  // namespace

std::string write_spec(const SandboxSpec& spec) {
  json::array mounts;
  for (const Mount& mount : spec.mounts) {
    mounts.push_back(json::object{
        {"source", mount.source}, {"target", mount.target}, {"writable", mount.access == Access::read_write}});
  }
  json::object own_labels;
  for (const auto& [name, value] : spec.labels) own_labels[name] = value;
  json::object all{{"image", spec.image},
                   {"runtime", spec.runtime},
                   {"work_dir", spec.work_dir},
                   {"gid", spec.gid},
                   {"hostname", spec.hostname},
                   {"name", spec.name},
                   {"ready_ms", spec.ready_timeout.count()},
                   {"limits", write_limits(spec.limits)},
                   {"mounts", std::move(mounts)},
                   {"labels", std::move(own_labels)}};
  if (spec.uid) all["uid"] = *spec.uid;
  all["user"] = spec.user;
  if (spec.root) all["root"] = true;
  if (!spec.gpus.empty()) {
    all["gpus"] = json::object{{"all", spec.gpus.all},
                               {"count", spec.gpus.count},
                               {"ids", json::array(spec.gpus.ids.begin(), spec.gpus.ids.end())}};
  }
  return boost::json::serialize(all);
}

Result<SandboxSpec> read_spec(std::string_view text) {
  CLOCHE_TRY(const json::value said, json::parse(text));
  SandboxSpec spec;
  spec.image = json::text(json::find(said, "image"));
  spec.runtime = json::text(json::find(said, "runtime"));
  spec.work_dir = json::text(json::find(said, "work_dir"));
  if (const json::value* set = json::find(said, "uid")) spec.uid = static_cast<std::uint32_t>(json::number(set));
  spec.gid = static_cast<std::uint32_t>(json::number(json::find(said, "gid")));
  // A sandbox of an older version has neither.
  if (const json::value* user = json::find(said, "user")) spec.user = json::text(user);
  spec.root = json::truth(json::find(said, "root"));
  spec.hostname = json::text(json::find(said, "hostname"));
  spec.name = json::text(json::find(said, "name"));
  spec.ready_timeout = std::chrono::milliseconds(json::number(json::find(said, "ready_ms")));
  spec.labels = json::text_map(json::find(said, "labels"));
  if (const json::value* limits = json::find(said, "limits")) spec.limits = read_limits(*limits);
  if (const json::value* gpus = json::find(said, "gpus")) {
    spec.gpus = {.all = json::truth(json::find(*gpus, "all")),
                 .count = static_cast<std::uint32_t>(json::number(json::find(*gpus, "count"))),
                 .ids = json::texts(json::find(*gpus, "ids"))};
  }
  if (const json::value* mounts = json::find(said, "mounts"); mounts && mounts->is_array()) {
    for (const json::value& item : mounts->get_array()) {
      const Access access = json::truth(json::find(item, "writable")) ? Access::read_write : Access::read_only;
      spec.mounts.push_back(
          Mount{json::text(json::find(item, "source")), json::text(json::find(item, "target")), access});
    }
  }
  CLOCHE_CHECK(validate(spec));
  return spec;
}

}  // namespace cloche
