// Bodies of /sessions, to and from our types.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "http/server/request/target.hpp"
#include "session/notes.hpp"
#include "session/session.hpp"

namespace cloche::api {

struct NewSession {
  std::optional<std::string> tenant;
  std::string id;
  session::SessionOptions options;
};

// {"tenant_id", "session_id", "profile", "env": {}, "secrets": [], "limits": {"memory", "cpus", "pids", "file_size",
//  "open_files"}, "idle_timeout", "network", "volumes": [], "metadata": {}, "timeout", "on_timeout"}. Sizes are bytes,
// or text such as "512m".
Result<NewSession> read_new_session(const boost::json::value& body);

// {"timeout": seconds}; none, or null: no timeout.
Result<std::optional<std::chrono::milliseconds>> read_timeout_body(const boost::json::value& body);
// So much from now on.
session::WallTime expiry_after(std::chrono::milliseconds timeout);

// Which sessions to list: `state=paused`, `metadata.KEY=VALUE`, both more than once. A session has one of the states
// and all of the metadata.
struct SessionFilter {
  std::vector<session::SessionState> states;
  session::Notes metadata;

  bool accepts(const session::SessionInfo& info) const;
};
Result<SessionFilter> read_session_filter(const http::Query& query);

// {"network": ...}; none, or null: the profile's.
Result<std::optional<NetworkPolicy>> read_network_body(const boost::json::value& body);

boost::json::object to_json(const session::SessionInfo& info);

}  // namespace cloche::api
