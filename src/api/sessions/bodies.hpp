// Bodies of /sessions, to and from our types.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "session/session.hpp"

namespace cloche::api {

struct NewSession {
  std::optional<std::string> tenant;
  std::string id;
  session::SessionOptions options;
};

// {"tenant_id", "session_id", "profile", "env": {}, "secrets": [], "limits": {"memory", "cpus", "pids", "file_size",
//  "open_files"}, "idle_timeout", "network", "volumes": []}. Sizes are bytes, or text such as "512m".
Result<NewSession> read_new_session(const boost::json::value& body);

// {"network": ...}; none, or null: the profile's.
Result<std::optional<NetworkPolicy>> read_network_body(const boost::json::value& body);

boost::json::object to_json(const session::SessionInfo& info);

}  // namespace cloche::api
