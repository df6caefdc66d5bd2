#include "api/sessions/bodies.hpp"

#include <boost/json/value_from.hpp>

#include "api/volumes/bodies.hpp"
#include "core/bytes.hpp"
#include "core/utc_time.hpp"
#include "json/json_object.hpp"
#include "session/network_json.hpp"

namespace cloche::api {

namespace {

constexpr std::chrono::hours longest_idle{7 * 24};
constexpr std::chrono::hours longest_timeout{30 * 24};
constexpr std::string_view metadata_prefix = "metadata.";
constexpr session::SessionState all_states[] = {session::SessionState::live, session::SessionState::paused,
                                                session::SessionState::lost, session::SessionState::ending};

Result<session::OnExpiry> read_on_timeout(JsonObject& object) {
  CLOCHE_TRY(const std::string name, object.text("on_timeout", "end"));
  if (name == "end") return session::OnExpiry::end;
  if (name == "pause") return session::OnExpiry::pause;
  return fail(ErrorCode::invalid_argument, object.place_of("on_timeout") + " must be end or pause");
}

Result<std::optional<std::chrono::milliseconds>> read_timeout(JsonObject& object) {
  if (!object.has("timeout")) return std::nullopt;
  return object.seconds("timeout", longest_timeout, {});
}

Result<std::optional<Bytes>> read_size(JsonObject& object, std::string_view name) {
  const json::value* found = object.find(name);
  if (found == nullptr) return std::nullopt;
  if (found->is_string()) {
    const auto size = parse_bytes(found->get_string());
    if (!size) return fail(ErrorCode::invalid_argument, object.place_of(name) + " must be a size such as \"512m\"");
    return *size;
  }
  CLOCHE_TRY(const std::int64_t count, object.number(name, 1, std::int64_t{1} << 50));
  return Bytes{static_cast<std::uint64_t>(count)};
}

template <class T>
Result<std::optional<T>> read_count(JsonObject& object, std::string_view name, std::int64_t most) {
  if (!object.has(name)) return std::nullopt;
  CLOCHE_TRY(const std::int64_t count, object.number(name, 1, most));
  return static_cast<T>(count);
}

Result<std::optional<double>> read_cpus(JsonObject& object) {
  const json::value* found = object.find("cpus");
  if (found == nullptr) return std::nullopt;
  if (!found->is_number()) {
    return fail(ErrorCode::invalid_argument, object.place_of("cpus") + " must be a number of cores");
  }
  return found->to_number<double>();
}

Result<LimitOverrides> read_limits(JsonObject& body) {
  LimitOverrides limits;
  const json::value* found = body.find("limits");
  if (found == nullptr) return limits;
  CLOCHE_TRY(JsonObject object, JsonObject::of(*found, "limits"));
  CLOCHE_TRY(limits.memory, read_size(object, "memory"));
  CLOCHE_TRY(limits.file_size, read_size(object, "file_size"));
  CLOCHE_TRY(limits.pids, read_count<std::uint32_t>(object, "pids", 1'000'000));
  CLOCHE_TRY(limits.open_files, read_count<std::uint64_t>(object, "open_files", 1'000'000));
  CLOCHE_TRY(limits.cpus, read_cpus(object));
  CLOCHE_CHECK(object.finish());
  return limits;
}

std::string text_of(session::WallTime time) {
  return to_utc_text(std::chrono::time_point_cast<WallTime::duration>(time));
}

}  // namespace

Result<NewSession> read_new_session(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  NewSession wanted;
  if (object.has("tenant_id")) {
    CLOCHE_TRY(wanted.tenant, object.text("tenant_id"));
  }
  CLOCHE_TRY(wanted.id, object.text("session_id"));
  CLOCHE_TRY(wanted.options.profile, object.text("profile", ""));
  CLOCHE_TRY(wanted.options.env, object.text_map("env"));
  CLOCHE_TRY(wanted.options.secrets, object.texts("secrets"));
  CLOCHE_TRY(wanted.options.limits, read_limits(object));
  if (object.has("idle_timeout")) {
    CLOCHE_TRY(const auto idle, object.seconds("idle_timeout", longest_idle, {}));
    wanted.options.idle_timeout = std::max(std::chrono::seconds(1), std::chrono::ceil<std::chrono::seconds>(idle));
  }
  if (const json::value* network = object.find("network")) {
    CLOCHE_TRY(wanted.options.network, session::read_network(*network, "network"));
  }
  CLOCHE_TRY(wanted.options.volumes, read_volume_mounts(object));
  CLOCHE_TRY(wanted.options.snapshot, object.text("snapshot", ""));
  CLOCHE_TRY(wanted.options.metadata, object.text_map("metadata"));
  CLOCHE_TRY(const auto timeout, read_timeout(object));
  if (timeout) wanted.options.expires = expiry_after(*timeout);
  CLOCHE_TRY(wanted.options.on_expiry, read_on_timeout(object));
  CLOCHE_CHECK(object.finish());
  return wanted;
}

Result<std::optional<std::chrono::milliseconds>> read_timeout_body(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  CLOCHE_TRY(const auto timeout, read_timeout(object));
  CLOCHE_CHECK(object.finish());
  return timeout;
}

session::WallTime expiry_after(std::chrono::milliseconds timeout) { return std::chrono::system_clock::now() + timeout; }

Result<SessionFilter> read_session_filter(const http::Query& query) {
  SessionFilter filter;
  for (const auto& [name, value] : query.items()) {
    if (name.starts_with(metadata_prefix)) {
      filter.metadata.insert_or_assign(name.substr(metadata_prefix.size()), value);
    } else if (name == "state") {
      const auto found = std::ranges::find(all_states, value, [](auto state) { return session::to_string(state); });
      if (found == std::end(all_states)) {
        return fail(ErrorCode::invalid_argument, "query: state must be live, paused, lost or ending");
      }
      filter.states.push_back(*found);
    }
  }
  return filter;
}

bool SessionFilter::accepts(const session::SessionInfo& info) const {
  const bool has_state = states.empty() || std::ranges::find(states, info.state) != states.end();
  return has_state && session::has_all(info.metadata, metadata);
}

Result<std::optional<NetworkPolicy>> read_network_body(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  const json::value* given = object.find("network");
  CLOCHE_CHECK(object.finish());
  if (given == nullptr) return std::nullopt;
  CLOCHE_TRY(NetworkPolicy network, session::read_network(*given, "network"));
  return network;
}

json::object to_json(const session::SessionInfo& info) {
  json::object body;
  body["tenant_id"] = info.key.tenant;
  body["session_id"] = info.key.id;
  body["profile"] = info.profile;
  body["state"] = session::to_string(info.state);
  if (info.state == session::SessionState::lost) body["lost_because"] = info.lost_because;
  body["created"] = text_of(info.created);
  body["last_used"] = text_of(info.last_used);
  body["idle_timeout"] = info.idle_timeout.count();
  body["calls"] = info.calls;
  body["network"] = session::to_json(info.network);
  body["volumes"] = volume_mounts_json(info.volumes);
  body["metadata"] = json::value_from(info.metadata);
  body["expires"] = nullptr;
  if (info.expires) body["expires"] = text_of(*info.expires);
  body["on_timeout"] = info.on_expiry == session::OnExpiry::pause ? "pause" : "end";
  if (!info.sandbox.empty()) body["sandbox"] = info.sandbox;
  return body;
}

}  // namespace cloche::api
