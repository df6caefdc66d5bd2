// How a session's options are written into its record, and read again.
#include <boost/json.hpp>

#include "session/network_json.hpp"
#include "session/record_file.hpp"

namespace cloche::session {

namespace {

namespace json = boost::json;

template <class T>
void put(json::object& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

void put(json::object& object, const char* name, const std::optional<Bytes>& value) {
  if (value) object[name] = value->count;
}

json::object to_json(const VolumeMount& volume) {
  return {{"tenant", volume.tenant},
          {"name", volume.name},
          {"target", volume.target},
          {"read_only", volume.access == Access::read_only}};
}

VolumeMount volume_of(const json::object& object) {
  const auto text = [&](const char* name) { return json::value_to<std::string>(object.at(name)); };
  return {.tenant = text("tenant"),
          .name = text("name"),
          .target = text("target"),
          .access = object.at("read_only").as_bool() ? Access::read_only : Access::read_write};
}

SessionOptions options_of(const json::object& object) {
  SessionOptions options;
  options.profile = json::value_to<std::string>(object.at("profile"));
  options.env = json::value_to<std::map<std::string, std::string>>(object.at("env"));
  options.secrets = json::value_to<std::vector<std::string>>(object.at("secrets"));
  const auto number = [&object](const char* name) -> std::optional<std::uint64_t> {
    const json::value* found = object.if_contains(name);
    if (found == nullptr) return std::nullopt;
    return found->to_number<std::uint64_t>();
  };
  if (const auto memory = number("memory")) options.limits.memory = Bytes{*memory};
  if (const auto file_size = number("file_size")) options.limits.file_size = Bytes{*file_size};
  if (const auto pids = number("pids")) options.limits.pids = static_cast<std::uint32_t>(*pids);
  options.limits.open_files = number("open_files");
  if (const json::value* cpus = object.if_contains("cpus")) options.limits.cpus = cpus->to_number<double>();
  if (const auto idle = number("idle_timeout")) options.idle_timeout = std::chrono::seconds(*idle);
  // Records of versions without networks have none.
  if (const json::value* network = object.if_contains("network")) {
    auto read = read_network(*network, "network");
    if (!read) throw std::invalid_argument(read.error().message);
    options.network = std::move(*read);
  }
  if (const json::value* volumes = object.if_contains("volumes")) {
    for (const json::value& each : volumes->as_array()) options.volumes.push_back(volume_of(each.as_object()));
  }
  const auto notes = [&object](const char* name) -> std::map<std::string, std::string> {
    const json::value* found = object.if_contains(name);
    return found == nullptr ? std::map<std::string, std::string>()
                            : json::value_to<std::map<std::string, std::string>>(*found);
  };
  options.metadata = notes("metadata");
  options.attributes = notes("attributes");
  if (const json::value* expires = object.if_contains("expires_ms")) {
    options.expires = WallTime(std::chrono::milliseconds(expires->to_number<std::int64_t>()));
  }
  const json::value* on_expiry = object.if_contains("on_expiry");
  if (on_expiry != nullptr && on_expiry->as_string() == "pause") options.on_expiry = OnExpiry::pause;
  if (const json::value* snapshot = object.if_contains("snapshot"))
    options.snapshot = json::value_to<std::string>(*snapshot);
  return options;
}

}  // namespace

std::string write_options(const SessionOptions& options) {
  json::object object;
  object["profile"] = options.profile;
  object["env"] = json::value_from(options.env);
  object["secrets"] = json::value_from(options.secrets);
  put(object, "memory", options.limits.memory);
  put(object, "file_size", options.limits.file_size);
  put(object, "pids", options.limits.pids);
  put(object, "open_files", options.limits.open_files);
  put(object, "cpus", options.limits.cpus);
  if (options.idle_timeout) object["idle_timeout"] = options.idle_timeout->count();
  if (options.network) object["network"] = to_json(*options.network);
  if (!options.volumes.empty()) {
    json::array volumes;
    for (const VolumeMount& each : options.volumes) volumes.push_back(to_json(each));
    object["volumes"] = std::move(volumes);
  }
  if (!options.metadata.empty()) object["metadata"] = json::value_from(options.metadata);
  if (!options.attributes.empty()) object["attributes"] = json::value_from(options.attributes);
  if (options.expires) {
    const auto since_epoch = options.expires->time_since_epoch();
    object["expires_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  }
  if (options.on_expiry == OnExpiry::pause) object["on_expiry"] = "pause";
  if (!options.snapshot.empty()) object["snapshot"] = options.snapshot;
  return json::serialize(object);
}

Result<SessionOptions> read_options(std::string_view text) {
  try {
    return options_of(json::parse(json::string_view(text.data(), text.size())).as_object());
  } catch (const std::exception& error) {
    return fail(ErrorCode::protocol, std::string("cannot read a session record: ") + error.what());
  }
}

}  // namespace cloche::session
