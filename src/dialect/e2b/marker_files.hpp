// Files by which programs of an E2B sandbox know where they run: /run/e2b/.E2B_SANDBOX and its like.
#pragma once

#include "core/async/task.hpp"
#include "core/deadline.hpp"
#include "session/session.hpp"

namespace cloche::dialect::e2b {

// Owned by root, and readable by all. Only a sandbox with root has a place for them; in others nothing is written.
Task<Status> write_marker_files(session::Session& session, Deadline deadline);

}  // namespace cloche::dialect::e2b
