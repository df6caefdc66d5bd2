// Exceptions as values: what one means, and the Error it becomes.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche {

// True when the task was cancelled. Several exceptions of one `a && b` count as the first of them: the others follow
// from it.
bool is_cancellation(const std::exception_ptr& error);

// Its message.
std::string describe(const std::exception_ptr& error);

// `cancelled` for a cancellation; anything else is a bug or a lack of memory, and `internal`. That is logged under
// `what`, because the caller only learns that it happened.
Error to_error(std::string_view what, const std::exception_ptr& error);

// How many exceptions this process has met that were no cancellations, for its metrics.
std::uint64_t internal_errors();
// Logs one more.
void log_internal_error(std::string_view message);

}  // namespace cloche
