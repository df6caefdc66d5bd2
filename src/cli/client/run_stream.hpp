// A run in progress: its output piece by piece, then its result. A lost connection is resumed.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>

#include "cli/client/service.hpp"
#include "cli/client/session_place.hpp"

namespace cloche::cli {

struct RunPlace {
  SessionPlace session;
  std::string run;

  // `/sessions/{tenant}/{session}/runs/{run}`
  std::string target() const { return session.target() + "/runs/" + percent_encoded(run); }
};

enum class Lane { out, err };

// Who follows. All of them may be left out.
struct RunFollower {
  std::function<void(const RunPlace& place)> began;
  // An error ends the following, not the run.
  std::function<Task<Status>(Lane lane, std::string bytes)> printed;
  // Every event as it came, the others' included.
  std::function<Task<Status>(std::string name, boost::json::object data)> happened;
};

// Sends the request, whose answer are the events of a run, and follows it to its end: the data of its last event. The
// error is the run's own where there was one; `unavailable` when the service went and did not come back, or came back
// without the run.
Task<Result<boost::json::object>> follow_run(Service& service, http::Request request, RunFollower follower);

// The request for the events of an existing run.
http::Request events_request(const RunPlace& place);

}  // namespace cloche::cli
