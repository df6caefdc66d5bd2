// A network in JSON: `"none"`, `"allow-list"`, `"internet"`, or {"mode", "rules", "allow", "deny"}.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "cloche/network.hpp"
#include "core/result.hpp"

namespace cloche::session {

// `where` is for errors. An object without `mode` is an allow-list. The names and rules are checked for their number
// and length alone.
Result<NetworkPolicy> read_network(const boost::json::value& value, const std::string& where);
boost::json::object to_json(const NetworkPolicy& network);

}  // namespace cloche::session
