// SessionAuthCheck: whether a caller that was authenticated still is. It is for long responses: a stream of events, a
// terminal, a WebSocket of an app. If the token is revoked or expires, they end within seconds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/call.hpp"
#include "core/async/task.hpp"

namespace cloche::api {

// Why a caller is no longer authorized.
struct Revoked {
  std::string_view code;  // as an error's: `unauthenticated`, `unavailable`, …
  std::string message;
};

class SessionAuthCheck {
 public:
  // How soon it is noticed that a token is good no longer.
  static constexpr std::chrono::seconds check_interval{2};
  // While the token file cannot be read, new callers are rejected; responses that have begun may continue for this
  // time.
  static constexpr std::chrono::seconds unreadable_timeout{30};

  // The call outlives it.
  explicit SessionAuthCheck(const Call& call);

  // Why the caller is shut out, if so. Costs nothing before the time has come to look again.
  std::optional<Revoked> check();
  // Waits until the next check is due; forever if no token is required.
  Task<> wait_until_due() const;
  // Waits and checks in a loop.
  Task<Revoked> wait_until_over();

 private:
  const Call& call_;
  Deadline due_;
  std::optional<Deadline> unreadable_until_;
};

}  // namespace cloche::api
