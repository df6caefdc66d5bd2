// unless_paused: a call in a session's sandbox, which ends when the session is paused.
#pragma once

#include "core/async/first_of.hpp"
#include "session/session.hpp"

namespace cloche::session {

// The result of the work; `paused` as soon as the session is paused, and the work is cancelled. The session outlives
// it.
template <class Outcome>
Task<Outcome> unless_paused(Session& session, Task<Outcome> work) {
  auto first = co_await first_of(std::move(work), session.wait_until_paused());
  if (first.index() == 1) co_return fail(Session::paused_error(session.key()));
  co_return std::get<0>(std::move(first));
}

}  // namespace cloche::session
