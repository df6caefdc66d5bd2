// The runs of a session, with those that an earlier process began.
#pragma once

#include "session/runs/runs.hpp"

namespace cloche::api {

// Waits until the runs of an earlier process were found: only then all that runs is counted.
Task<Result<session::Runs*>> runs_of(const session::SessionUse& use);

}  // namespace cloche::api
