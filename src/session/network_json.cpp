#include "session/network_json.hpp"

#include <boost/json/array.hpp>

#include "egress/policy/network_mode.hpp"
#include "json/json_object.hpp"

namespace cloche::session {

Result<NetworkPolicy> read_network(const boost::json::value& value, const std::string& where) {
  NetworkPolicy network;
  if (value.is_string()) {
    CLOCHE_TRY(network.mode, egress::parse_network(std::string_view(value.get_string())));
    return network;
  }
  if (!value.is_object()) {
    return fail(ErrorCode::invalid_argument, where + " must be none, allow-list, internet or an object");
  }
  CLOCHE_TRY(JsonObject object, JsonObject::of(value, where));
  CLOCHE_TRY(const std::string mode, object.text("mode", std::string(egress::to_string(Network::allow_list))));
  CLOCHE_TRY(network.mode, egress::parse_network(mode));
  CLOCHE_TRY(network.rules, object.texts("rules"));
  CLOCHE_TRY(network.allow, object.texts("allow"));
  CLOCHE_TRY(network.deny, object.texts("deny"));
  CLOCHE_CHECK(object.finish());
  CLOCHE_CHECK(egress::check_shape(network));
  return network;
}

boost::json::object to_json(const NetworkPolicy& network) {
  boost::json::object object;
  object["mode"] = egress::to_string(network.mode);
  const auto put = [&](const char* name, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    boost::json::array list;
    for (const std::string& text : texts) list.emplace_back(text);
    object[name] = std::move(list);
  };
  put("rules", network.rules);
  put("allow", network.allow);
  put("deny", network.deny);
  return object;
}

}  // namespace cloche::session
