#include "context/call_result.hpp"

namespace cloche {

std::string_view to_string(ContextEnding ending) {
  switch (ending) {
    case ContextEnding::ok: return "ok";
    case ContextEnding::error: return "error";
    case ContextEnding::timeout: return "timeout";
    case ContextEnding::memory: return "memory";
    case ContextEnding::output_limit: return "output_limit";
    case ContextEnding::lost: return "lost";
  }
  return "unknown";
}

std::string_view to_string(ContextState state) {
  switch (state) {
    case ContextState::kept: return "kept";
    case ContextState::handed_over: return "handed_over";
    case ContextState::lost: return "lost";
  }
  return "unknown";
}

}  // namespace cloche
