// SessionAuthCheck: whether who was let in would still be. For answers that last: a stream of events, a terminal, a
// WebSocket of an app. A token that is revoked or expires ends them within seconds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/call.hpp"
#include "core/task.hpp"

namespace cloche::api {

// Why somebody is not let in any more.
struct Revoked {
  std::string_view code;  // as an error's: `unauthenticated`, `unavailable`, …
  std::string message;
};

class SessionAuthCheck {
 public:
  // How soon it is noticed that a token is good no longer.
  static constexpr std::chrono::seconds check_interval{2};
  // A token file that cannot be read lets nobody in; what goes on already is left to it for so long.
  static constexpr std::chrono::seconds unreadable_patience{30};

  // The call outlives it.
  explicit SessionAuthCheck(const Call& call);

  // Why the caller is shut out, if so. Costs nothing before the time has come to look again.
  std::optional<Revoked> check();
  // Until it is time to look; for ever where nobody needs a token.
  Task<> wait_until_due() const;
  // Both, over and over.
  Task<Revoked> wait_until_over();

 private:
  const Call& call_;
  Deadline due_;
  std::optional<Deadline> unreadable_until_;
};

}  // namespace cloche::api
