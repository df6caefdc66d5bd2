#include "backend/docker/labels.hpp"

#include <charconv>

#include "backend/docker/engine/engine_time.hpp"

namespace cloche::docker::labels {

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

Result<LabelMap> for_sandbox(const SandboxSpec& spec, const SandboxId& id, const InstanceId& of) {
  LabelMap all = spec.labels;
  for (const auto& [name, value] : all) {
    if (name.empty() || name.starts_with("cloche.")) {
      return fail(ErrorCode::invalid_argument,
                  "invalid label name '" + name + "': names starting with cloche. are reserved");
    }
  }
  // Everything is sent to the engine as JSON, which has no other bytes: it would change them silently.
  if (!read_spec(write_spec(spec)))
    return fail(ErrorCode::invalid_argument, "paths and labels must be UTF-8 for the docker backend");
  all[app] = "cloche";
  all[owner] = of.value;
  all[instance] = of.name.empty() ? of.value : of.name;
  all[place] = of.place;
  all[sandbox] = id.value;
  all[created] = now_rfc3339();
  all[uid] = std::to_string(uid_of(spec));
  all[spec_json] = write_spec(spec);
  // An image can bring labels, and must not pass for one that is being derived.
  all[deriving_owner] = "";
  all[deriving] = "";
  return all;
}

LabelMap of_owner(const InstanceId& id) { return {{app, "cloche"}, {owner, id.value}}; }

std::string owner_of(const LabelMap& borne) {
  const auto value_of = [&](const char* name) {
    const auto found = borne.find(name);
    return found == borne.end() ? std::string() : found->second;
  };
  if (std::string deriver = value_of(deriving_owner); !deriver.empty()) return deriver;
  if (std::string deriver = value_of(former_deriving); !deriver.empty()) return deriver;
  if (value_of(app) != "cloche") return {};
  std::string id = value_of(owner);
  return id.empty() ? value_of(instance) : id;
}

std::optional<std::uint32_t> read_uid(const LabelMap& borne) {
  const auto found = borne.find(uid);
  if (found == borne.end()) return std::nullopt;
  const std::string& text = found->second;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

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

}  // namespace cloche::docker::labels
