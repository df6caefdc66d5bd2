// From the names in a request's path to the session.
#pragma once

#include <chrono>

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// To get a session, which may have to wait for a sandbox.
constexpr std::chrono::seconds session_timeout{60};

// Finds the existing session that the path names. `not_found` if it does not exist.
Result<session::SessionUse> find_session(const Call& call, session::SessionStore& store);
// The same; the session is made if it does not exist.
Task<Result<session::SessionUse>> use_session(const Call& call, session::SessionStore& store);

}  // namespace cloche::api
