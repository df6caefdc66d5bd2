// eventually: look again and again until something is true. For tests that have no event to wait for.
#pragma once

#include <chrono>
#include <thread>

namespace cloche::testing_support {

// How long a test looks. Only a hang takes so long: a busy machine makes a test slow, and does not make it fail.
inline constexpr std::chrono::seconds patience{60};

// Whether it became true in time. Blocks the thread: in a coroutine, look in a loop with `pause_for` until a Deadline
// of `patience` has passed.
template <typename Predicate>
[[nodiscard]] bool eventually(Predicate is_true, std::chrono::milliseconds within = patience) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace cloche::testing_support
