#include "dialect/e2b/control/bodies.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "dialect/e2b/attributes.hpp"
#include "egress/policy/out_lists.hpp"
#include "json/json_object.hpp"
#include "json/write_json.hpp"

namespace cloche::dialect::e2b {

namespace {

using std::chrono::seconds;

constexpr seconds default_timeout_v1{15};
constexpr seconds default_timeout_v2{300};
constexpr seconds longest_refresh{3600};
constexpr std::int64_t most_copies = 100;
constexpr std::size_t longest_template = 200;
constexpr std::size_t most_destinations = 256;
constexpr std::size_t longest_destination = 253;
constexpr std::size_t longest_lists = std::size_t{15} * 1024;  // they are kept with the session
constexpr std::size_t most_https_ports = 64;
constexpr std::string_view everything = "0.0.0.0/0";

std::unexpected<Error> bad(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

Result<std::vector<std::string>> read_destinations(JsonObject& object, std::string_view name) {
  CLOCHE_TRY(auto entries, object.texts(name));
  if (entries.size() > most_destinations) {
    return bad(std::string(name) + " must not have more than " + std::to_string(most_destinations) + " entries");
  }
  for (const std::string& entry : entries) {
    if (entry.size() > longest_destination) return bad(std::string(name) + " has an entry that is too long");
  }
  return entries;
}

bool is_given(JsonObject& object, std::string_view name) {
  const json::value* found = object.find(name);
  if (found == nullptr || found->is_null()) return false;
  return !((found->is_object() && found->get_object().empty()) || (found->is_array() && found->get_array().empty()) ||
           (found->is_string() && found->get_string().empty()));
}

// The name that servers in the sandbox get as Host. ${PORT} is replaced by their port.
Result<std::string> read_mask_host(JsonObject& network) {
  if (!is_given(network, "maskRequestHost")) return std::string();
  CLOCHE_TRY(std::string mask, network.text("maskRequestHost"));
  const std::string host = masked_host(mask, 65535);
  const bool is_host = host.size() <= longest_destination &&
                       host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]") ==
                           std::string::npos;
  if (!is_host) return bad("network.maskRequestHost must be a host name, with or without a port or ${PORT}");
  return mask;
}

Result<std::vector<std::uint16_t>> read_https_ports(JsonObject& network) {
  std::vector<std::uint16_t> ports;
  if (!is_given(network, "httpsPorts")) return ports;
  const json::value* found = network.find("httpsPorts");
  constexpr std::string_view rule = "network.httpsPorts must be at most 64 ports, from 1 to 65535";
  if (!found->is_array() || found->get_array().size() > most_https_ports) return bad(std::string(rule));
  for (const json::value& each : found->get_array()) {
    boost::system::error_code none;
    const auto port = each.to_number<std::int64_t>(none);
    if (none || port < 1 || port > 65535) return bad(std::string(rule));
    ports.push_back(static_cast<std::uint16_t>(port));
  }
  return ports;
}

Status refuse_unsupported(JsonObject& object) {
  for (const char* name : {"egressProxy", "rules"}) {
    if (!is_given(object, name)) continue;
    return fail(ErrorCode::unsupported, "network." + std::string(name) +
                                            " is not supported; an operator configures proxies and secrets of "
                                            "connections in `egress:` of cloche.yml");
  }
  return {};
}

// `lists` has allowOut and denyOut.
Status read_out_lists(JsonObject& lists, NetworkWish& wish) {
  CLOCHE_CHECK(refuse_unsupported(lists));
  egress::OutLists out;
  CLOCHE_TRY(out.allow, read_destinations(lists, "allowOut"));
  CLOCHE_TRY(out.deny, read_destinations(lists, "denyOut"));
  json::object shown;
  if (!out.allow.empty()) shown["allowOut"] = json::array(out.allow.begin(), out.allow.end());
  if (!out.deny.empty()) shown["denyOut"] = json::array(out.deny.begin(), out.deny.end());
  if (wish.public_traffic) shown["allowPublicTraffic"] = *wish.public_traffic;
  if (!shown.empty()) wish.shown = write_json(shown);
  if (wish.shown.size() > longest_lists) return bad("allowOut and denyOut are too long");
  if (wish.internet == false) out.deny.emplace_back(everything);
  if (out.allow.empty() && out.deny.empty()) return {};
  CLOCHE_TRY(NetworkPolicy policy, egress::network_of(out));
  // Nothing is allowed: the same as no network, which every tenant may choose.
  if (policy.mode == Network::allow_list && policy.allow.empty()) policy = NetworkPolicy{};
  wish.policy = std::move(policy);
  return {};
}

Result<std::optional<bool>> read_optional_flag(JsonObject& object, std::string_view name) {
  if (!object.has(name)) return std::nullopt;
  CLOCHE_TRY(const bool flag, object.flag(name, false));
  return flag;
}

Result<NetworkWish> read_network_wish(JsonObject& body) {
  NetworkWish wish;
  CLOCHE_TRY(wish.internet, read_optional_flag(body, "allow_internet_access"));
  static const json::value nothing = json::object();
  const json::value* found = body.find("network");
  CLOCHE_TRY(JsonObject network, JsonObject::of(found != nullptr ? *found : nothing, "network"));
  CLOCHE_TRY(wish.public_traffic, read_optional_flag(network, "allowPublicTraffic"));
  CLOCHE_TRY(wish.mask_host, read_mask_host(network));
  CLOCHE_TRY(wish.https_ports, read_https_ports(network));
  CLOCHE_CHECK(read_out_lists(network, wish));
  return wish;
}

Result<seconds> read_seconds(JsonObject& object, std::string_view name, TimeoutRule rule) {
  CLOCHE_TRY(const std::int64_t count, object.number(name, rule.least.count(), INT32_MAX));
  if (count > rule.most.count()) {
    return bad(std::string(name) + " must not be more than " + std::to_string(rule.most.count()) + " seconds");
  }
  return seconds(count);
}

Result<bool> read_auto_resume(JsonObject& body) {
  const json::value* found = body.find("autoResume");
  if (found == nullptr) return false;
  if (found->is_bool()) return found->get_bool();
  CLOCHE_TRY(JsonObject object, JsonObject::of(*found, "autoResume"));
  return object.flag("enabled", false);
}

// Fields of which a sandbox would not have what its caller relies on.
Status refuse_foreign_fields(JsonObject& body) {
  const json::value* mounts = body.find("volumeMounts");
  if (mounts != nullptr && !(mounts->is_array() && mounts->get_array().empty())) {
    return fail(ErrorCode::unsupported,
                "volumeMounts is not supported; create a session with volumes by POST /sessions instead");
  }
  return {};
}

}  // namespace

Result<NewSandbox> read_new_sandbox(const json::value& body, ApiVersion version, TimeoutRule rule) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  NewSandbox wanted;
  CLOCHE_TRY(wanted.template_id, object.text("templateID"));
  if (wanted.template_id.empty() || wanted.template_id.size() > longest_template) {
    return bad("templateID must have 1 to " + std::to_string(longest_template) + " characters");
  }
  wanted.timeout = std::min(version == ApiVersion::v1 ? default_timeout_v1 : default_timeout_v2, rule.most);
  if (object.has("timeout")) {
    CLOCHE_TRY(wanted.timeout, read_seconds(object, "timeout", rule));
  }
  CLOCHE_TRY(wanted.metadata, object.text_map("metadata"));
  CLOCHE_TRY(wanted.env, object.text_map("envVars"));
  CLOCHE_TRY(wanted.secure, object.flag("secure", true));
  CLOCHE_TRY(wanted.auto_pause, object.flag("autoPause", false));
  CLOCHE_TRY(wanted.auto_resume, read_auto_resume(object));
  CLOCHE_TRY(wanted.network, read_network_wish(object));
  CLOCHE_CHECK(refuse_foreign_fields(object));
  return wanted;
}

Result<seconds> read_timeout(const json::value& body, TimeoutRule rule, std::optional<seconds> otherwise) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  if (!object.has("timeout") && otherwise) return std::min(*otherwise, rule.most);
  return read_seconds(object, "timeout", rule);
}

Result<seconds> read_duration(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  if (!object.has("duration")) return default_timeout_v1;
  return read_seconds(object, "duration", {.most = longest_refresh, .least = seconds(0)});
}

Result<NetworkWish> read_network_update(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  NetworkWish wish;
  CLOCHE_TRY(wish.internet, read_optional_flag(object, "allow_internet_access"));
  CLOCHE_CHECK(read_out_lists(object, wish));
  return wish;
}

Result<ForkBody> read_fork(const json::value& body, TimeoutRule rule) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  ForkBody wanted;
  CLOCHE_TRY(const std::int64_t count, object.number("count", 1, most_copies, 1));
  wanted.count = static_cast<std::uint32_t>(count);
  if (object.has("timeout")) {
    CLOCHE_TRY(wanted.timeout, read_seconds(object, "timeout", rule));
  }
  return wanted;
}

Result<std::string> read_snapshot_name(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  return object.text("name", "");
}

Result<std::string> template_alias(const std::string& template_id) {
  std::string_view name = template_id;
  if (const auto colon = name.rfind(':'); colon != std::string_view::npos) {
    const std::string_view tag = name.substr(colon + 1);
    if (tag != "default" && tag != "latest") {
      return fail(ErrorCode::not_found, "template '" + template_id +
                                            "' not found: templates have only the tags "
                                            "'default' and 'latest'");
    }
    name = name.substr(0, colon);
  }
  if (const auto slash = name.find('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  if (name.empty()) return fail(ErrorCode::not_found, "template '" + template_id + "' not found");
  return std::string(name);
}

}  // namespace cloche::dialect::e2b
