#include "session/session.hpp"

namespace cloche::session {

std::string_view to_string(SessionState state) {
  switch (state) {
    case SessionState::live: return "live";
    case SessionState::paused: return "paused";
    case SessionState::lost: return "lost";
    case SessionState::ending: return "ending";
  }
  return "lost";
}

}  // namespace cloche::session
