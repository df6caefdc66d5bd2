#include "wire/channel_messages.hpp"

namespace cloche::wire {

CloseReason close_reason_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return CloseReason::invalid_argument;
    case ErrorCode::not_found: return CloseReason::not_found;
    case ErrorCode::already_exists: return CloseReason::already_exists;
    case ErrorCode::permission_denied: return CloseReason::permission_denied;
    case ErrorCode::limit_reached: return CloseReason::limit_reached;
    case ErrorCode::unsupported: return CloseReason::unsupported;
    case ErrorCode::timeout: return CloseReason::timeout;
    case ErrorCode::cancelled: return CloseReason::cancelled;
    case ErrorCode::unavailable:
    case ErrorCode::sandbox_lost:
    case ErrorCode::ending:
    case ErrorCode::paused:
    case ErrorCode::protocol:
    case ErrorCode::internal: return CloseReason::internal;
  }
  return CloseReason::internal;
}

ErrorCode error_code_of(CloseReason reason) {
  switch (reason) {
    case CloseReason::invalid_argument: return ErrorCode::invalid_argument;
    case CloseReason::not_found: return ErrorCode::not_found;
    case CloseReason::already_exists: return ErrorCode::already_exists;
    case CloseReason::permission_denied: return ErrorCode::permission_denied;
    case CloseReason::limit_reached: return ErrorCode::limit_reached;
    case CloseReason::unsupported: return ErrorCode::unsupported;
    case CloseReason::timeout: return ErrorCode::timeout;
    case CloseReason::cancelled: return ErrorCode::cancelled;
    case CloseReason::none:
    case CloseReason::internal: return ErrorCode::internal;
  }
  return ErrorCode::internal;
}

}  // namespace cloche::wire
