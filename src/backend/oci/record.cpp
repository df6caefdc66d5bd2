#include "backend/oci/record.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>

#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

namespace json = boost::json;

constexpr int version = 1;

std::string_view name_of(SandboxRecord::State state) {
  switch (state) {
    case SandboxRecord::State::creating: return "creating";
    case SandboxRecord::State::running: return "running";
    case SandboxRecord::State::destroying: return "destroying";
  }
  return "destroying";
}

json::object limits_to_json(const Limits& limits) {
  return {{"memory", limits.memory.count},
          {"cpus", limits.cpus},
          {"pids", limits.pids},
          {"file_size", limits.file_size.count},
          {"open_files", limits.open_files},
          {"work_dir", limits.work_dir.count},
          {"tmp_dir", limits.tmp_dir.count},
          {"shm_dir", limits.shm_dir.count}};
}

Limits limits_from_json(const json::object& object) {
  const auto bytes = [&](const char* key) { return Bytes{object.at(key).to_number<std::uint64_t>()}; };
  return {.memory = bytes("memory"),
          .cpus = object.at("cpus").to_number<double>(),
          .pids = object.at("pids").to_number<std::uint32_t>(),
          .file_size = bytes("file_size"),
          .open_files = object.at("open_files").to_number<std::uint64_t>(),
          .work_dir = bytes("work_dir"),
          .tmp_dir = bytes("tmp_dir"),
          .shm_dir = bytes("shm_dir")};
}

json::object spec_to_json(const SandboxSpec& spec) {
  json::array mounts;
  for (const Mount& mount : spec.mounts) {
    mounts.push_back(json::object{
        {"source", mount.source}, {"target", mount.target}, {"read_only", mount.access == Access::read_only}});
  }
  json::object labels;
  for (const auto& [key, value] : spec.labels) labels[key] = value;
  return {{"image", spec.image},
          {"runtime", spec.runtime},
          {"work_dir", spec.work_dir},
          {"uid", uid_of(spec)},
          {"gid", spec.gid},
          {"user", spec.user},
          {"root", spec.root},
          {"hostname", spec.hostname},
          {"limits", limits_to_json(spec.limits)},
          {"egress", spec.egress},
          {"workspace", spec.workspace == WorkspaceKind::disk ? "disk" : "memory"},
          {"disk_size", spec.disk_size.count},
          {"gpus",
           json::object{{"all", spec.gpus.all}, {"count", spec.gpus.count}, {"ids", json::value_from(spec.gpus.ids)}}},
          {"mounts", std::move(mounts)},
          {"labels", std::move(labels)},
          {"name", spec.name},
          {"ready_timeout_ms", spec.ready_timeout.count()}};
}

std::string text(const json::value& value) { return std::string(value.as_string()); }

SandboxSpec spec_from_json(const json::object& object) {
  SandboxSpec spec;
  spec.image = text(object.at("image"));
  spec.runtime = text(object.at("runtime"));
  spec.work_dir = text(object.at("work_dir"));
  spec.uid = object.at("uid").to_number<std::uint32_t>();
  spec.gid = object.at("gid").to_number<std::uint32_t>();
  spec.hostname = text(object.at("hostname"));
  spec.limits = limits_from_json(object.at("limits").as_object());
  if (const json::value* egress = object.if_contains("egress")) spec.egress = egress->as_bool();
  // Records of older versions have neither.
  if (const json::value* user = object.if_contains("user")) spec.user = text(*user);
  if (const json::value* root = object.if_contains("root")) spec.root = root->as_bool();
  // Records of older versions have none: all was in memory.
  if (const json::value* workspace = object.if_contains("workspace")) {
    spec.workspace = workspace->as_string() == "disk" ? WorkspaceKind::disk : WorkspaceKind::memory;
    spec.disk_size = Bytes{object.at("disk_size").to_number<std::uint64_t>()};
  }
  for (const json::value& mount : object.at("mounts").as_array()) {
    const auto& fields = mount.as_object();
    spec.mounts.push_back({text(fields.at("source")), text(fields.at("target")),
                           fields.at("read_only").as_bool() ? Access::read_only : Access::read_write});
  }
  if (const json::value* gpus = object.if_contains("gpus")) {
    spec.gpus = {.all = gpus->at("all").as_bool(),
                 .count = gpus->at("count").to_number<std::uint32_t>(),
                 .ids = json::value_to<std::vector<std::string>>(gpus->at("ids"))};
  }
  for (const auto& label : object.at("labels").as_object()) spec.labels.emplace(label.key(), text(label.value()));
  spec.name = text(object.at("name"));
  spec.ready_timeout = std::chrono::milliseconds(object.at("ready_timeout_ms").to_number<std::int64_t>());
  return spec;
}

json::object identity_to_json(const ProcessIdentity& process) {
  return {{"pid", process.pid}, {"start_time", process.start_time}};
}

ProcessIdentity identity_from_json(const json::object& object) {
  return {object.at("pid").to_number<pid_t>(), object.at("start_time").to_number<std::uint64_t>()};
}

json::array volumes_to_json(const std::vector<VolumeMount>& volumes) {
  json::array list;
  for (const VolumeMount& each : volumes) {
    list.push_back(json::object{{"tenant", each.tenant},
                                {"name", each.name},
                                {"target", each.target},
                                {"read_only", each.access == Access::read_only}});
  }
  return list;
}

std::vector<VolumeMount> volumes_from_json(const json::array& list) {
  std::vector<VolumeMount> volumes;
  for (const json::value& each : list) {
    const auto& fields = each.as_object();
    volumes.push_back({text(fields.at("tenant")), text(fields.at("name")), text(fields.at("target")),
                       fields.at("read_only").as_bool() ? Access::read_only : Access::read_write});
  }
  return volumes;
}

Result<SandboxRecord::State> state_named(std::string_view name) {
  using State = SandboxRecord::State;
  for (const State state : {State::creating, State::running, State::destroying}) {
    if (name_of(state) == name) return state;
  }
  return fail(ErrorCode::protocol, "unknown state '" + std::string(name) + "'");
}

}  // namespace

std::string to_json(const SandboxRecord& record) {
  return json::serialize(
      json::object{{"version", version},
                   {"state", name_of(record.state)},
                   {"id", record.id.value},
                   {"owner", record.owner},
                   {"spec", spec_to_json(record.spec)},
                   {"runtime", record.runtime},
                   {"runtime_kind", record.runtime_kind},
                   {"uid_slot", record.uid_slot ? json::value(*record.uid_slot) : json::value(nullptr)},
                   {"gpus", to_json(record.gpus)},
                   {"volumes", volumes_to_json(record.volumes)},
                   {"redirects", record.redirects},
                   {"first", identity_to_json(record.first)},
                   {"keeper", identity_to_json(record.keeper)},
                   {"boot", record.boot}});
}

Result<SandboxRecord> parse_record(std::string_view source) {
  try {
    const json::value parsed = json::parse(source);
    const json::object& object = parsed.as_object();
    if (object.at("version").to_number<int>() != version)
      return fail(ErrorCode::protocol, "sandbox record of another version");
    SandboxRecord record;
    CLOCHE_TRY(record.state, state_named(object.at("state").as_string()));
    record.id.value = text(object.at("id"));
    if (const json::value* owner = object.if_contains("owner")) record.owner = text(*owner);
    record.spec = spec_from_json(object.at("spec").as_object());
    record.runtime = text(object.at("runtime"));
    // Records of older versions have none: there, a runtime's name was its kind.
    const auto* kind = object.if_contains("runtime_kind");
    record.runtime_kind = kind == nullptr ? record.runtime : text(*kind);
    if (!object.at("uid_slot").is_null()) record.uid_slot = object.at("uid_slot").to_number<std::uint32_t>();
    if (const json::value* gpus = object.if_contains("gpus")) record.gpus = gpus_from_json(gpus->as_object());
    if (const json::value* redirects = object.if_contains("redirects")) record.redirects = redirects->as_bool();
    if (const json::value* volumes = object.if_contains("volumes")) {
      record.volumes = volumes_from_json(volumes->as_array());
    }
    record.first = identity_from_json(object.at("first").as_object());
    record.keeper = identity_from_json(object.at("keeper").as_object());
    record.boot = text(object.at("boot"));
    return record;
  } catch (const std::exception& e) {
    return fail(ErrorCode::protocol, std::string("invalid sandbox record: ") + e.what());
  }
}

Status write_record(const std::string& path, const SandboxRecord& record) {
  return write_file_atomically(path, to_json(record), 0600);
}

Result<SandboxRecord> read_record(const std::string& path) {
  CLOCHE_TRY(const std::string source, read_file(path));
  auto record = parse_record(source);
  if (!record) return fail(std::move(record).error().at(path));
  return record;
}

}  // namespace cloche::oci
