// guarded, attempted: work whose exceptions become errors, so that one bug ends one thing and not the loop around it.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "core/async/exceptions.hpp"
#include "core/async/task.hpp"

namespace cloche {

// The result of `start()`, a Task of a Result. An exception becomes `internal`, with a line in the log that begins with
// `what`. A cancellation is `cancelled`, and stays pending: the caller's next co_await throws.
template <class Start>
std::invoke_result_t<Start&> attempted(std::string what, Start start) {
  std::exception_ptr thrown;
  try {
    auto result = co_await start();
    co_return result;
  } catch (...) {
    thrown = std::current_exception();
  }
  co_return fail(to_error(what, thrown));
}

// The same, except that a cancellation is passed on to the caller.
template <class Start>
std::invoke_result_t<Start&> guarded(std::string what, Start start) {
  std::exception_ptr thrown;
  try {
    auto result = co_await start();
    co_return result;
  } catch (...) {
    thrown = std::current_exception();
  }
  if (is_cancellation(thrown)) std::rethrow_exception(thrown);
  co_return fail(to_error(what, thrown));
}

}  // namespace cloche
