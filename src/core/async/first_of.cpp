#include "core/async/first_of.hpp"

#include "core/async/exceptions.hpp"

namespace cloche::detail {

void note_end_of_loser(const std::exception_ptr& error) {
  if (!is_cancellation(error)) log_internal_error("a task that was no longer needed failed: " + describe(error));
}

}  // namespace cloche::detail
