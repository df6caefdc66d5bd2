// A file as a lock: one process, or one caller in it, has it at a time.
#pragma once

#include <string>
#include <string_view>

#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

// Creates the file if it is missing, and waits until no other descriptor has the lock. Closing the descriptor releases
// it, and so does the end of the process. `waiting_for` is the step in the error if the token ends the wait.
Result<UniqueFd> lock_file(const std::string& path, std::string_view waiting_for, const CancelToken& token);

}  // namespace cloche
