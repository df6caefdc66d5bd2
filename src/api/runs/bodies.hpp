// Bodies of the run routes, to and from our types. Strict: a field that is not known, of another type or out of its
// bounds is `invalid_argument` with its name.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "api/files/bodies.hpp"
#include "cloche/network.hpp"
#include "cloche/output.hpp"
#include "http/server/request/target.hpp"
#include "json/shape.hpp"
#include "session/runs/run_request.hpp"

namespace cloche::api {

struct RunBody {
  SessionName where;
  session::RunCall call;
  Lifetime lifetime = Lifetime::foreground;  // of a call in a context always this one
  // That of the session, if this call creates it. A session that exists must have it already.
  std::optional<NetworkPolicy> network;
};

// {"code", "language", "tenant_id", "session_id", "timeout", "stdin" | "stdin_base64", "env": {}, "files": {path: text
// |
//  {"content" | "content_base64"}}, "context", "background", "work_dir", "artifacts": {"ignore": "default" | "none",
//  "include": [], "exclude": []}, "network"}
Result<RunBody> read_execute_body(const json::value& body);
// The same with "command" and "pipefail" instead of "code" and "language".
Result<RunBody> read_bash_body(const json::value& body);
// The shape of both. A large field must be listed here; unlisted fields share a small number of values.
extern const Shape run_body_shape;

// {"signal": "SIGTERM" | "TERM" | 15}
Result<int> read_signal_body(const json::value& body);
// {"timeout": seconds}
Result<std::chrono::milliseconds> read_wait_body(const json::value& body);

struct OutputQuery {
  Stream stream = Stream::out;
  std::uint64_t offset = 0;
  std::uint64_t limit = 0;
};
Result<OutputQuery> read_output_query(const http::Query& query);

// Where a reader of events continues: "<run>-<position>", as in Last-Event-ID.
struct EventPlace {
  std::string run;
  std::uint64_t position = 0;
};
std::string event_id(const EventPlace& place);
Result<EventPlace> parse_event_id(std::string_view text);

}  // namespace cloche::api
