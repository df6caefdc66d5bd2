#include "library/throwing.hpp"

namespace cloche {

void throw_error(const Error& error) {
  switch (error.code) {
    case ErrorCode::timeout: throw SandboxTimeoutError(error.message);
    case ErrorCode::limit_reached: throw SandboxResourceError(error.message);
    case ErrorCode::not_found: throw SandboxNotFoundError(error.message);
    case ErrorCode::invalid_argument: throw SandboxArgumentError(error.message);
    case ErrorCode::ending:
    case ErrorCode::paused:
    case ErrorCode::sandbox_lost: throw SandboxLostError(error.message);
    case ErrorCode::unsupported:
    case ErrorCode::unavailable: throw SandboxUnavailableError(error.message);
    case ErrorCode::already_exists:
    case ErrorCode::permission_denied:
    case ErrorCode::cancelled:
    case ErrorCode::protocol:
    case ErrorCode::internal: break;
  }
  throw SandboxError(error.message);
}

}  // namespace cloche
