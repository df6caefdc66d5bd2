// A run as a stream of events.
#pragma once

#include "api/call.hpp"
#include "api/runs/answers.hpp"

namespace cloche::api {

// Whether the client asks for events, or for this type.
bool accepts(const http::Exchange& exchange, std::string_view type);

// Answers with the run's events from a position on, until its end, or until the server stops. Nothing is missed and
// nothing comes twice for a client that comes back with the id of the last event it saw. A caller whose token is good
// no longer, or whose session is paused, gets an error event, and the end.
Task<Status> stream_run(Call& call, std::shared_ptr<session::Run> run, session::SessionKey key, std::uint64_t position);

}  // namespace cloche::api
