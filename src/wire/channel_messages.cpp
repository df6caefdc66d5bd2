#include "wire/channel_messages.hpp"

namespace cloche::wire {

Refusal refusal_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return Refusal::invalid_argument;
    case ErrorCode::not_found: return Refusal::not_found;
    case ErrorCode::already_exists: return Refusal::already_exists;
    case ErrorCode::permission_denied: return Refusal::permission_denied;
    case ErrorCode::limit_reached: return Refusal::limit_reached;
    case ErrorCode::unsupported: return Refusal::unsupported;
    case ErrorCode::timeout: return Refusal::timeout;
    case ErrorCode::cancelled: return Refusal::cancelled;
    case ErrorCode::unavailable:
    case ErrorCode::sandbox_lost:
    case ErrorCode::ending:
    case ErrorCode::protocol:
    case ErrorCode::internal: return Refusal::internal;
  }
  return Refusal::internal;
}

ErrorCode error_code_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::invalid_argument: return ErrorCode::invalid_argument;
    case Refusal::not_found: return ErrorCode::not_found;
    case Refusal::already_exists: return ErrorCode::already_exists;
    case Refusal::permission_denied: return ErrorCode::permission_denied;
    case Refusal::limit_reached: return ErrorCode::limit_reached;
    case Refusal::unsupported: return ErrorCode::unsupported;
    case Refusal::timeout: return ErrorCode::timeout;
    case Refusal::cancelled: return ErrorCode::cancelled;
    case Refusal::none:
    case Refusal::internal: return ErrorCode::internal;
  }
  return ErrorCode::internal;
}

}  // namespace cloche::wire
