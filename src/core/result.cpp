#include "core/result.hpp"

#include <cerrno>
#include <system_error>

namespace cloche {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::already_exists: return "already_exists";
    case ErrorCode::permission_denied: return "permission_denied";
    case ErrorCode::limit_reached: return "limit_reached";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::timeout: return "timeout";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::sandbox_lost: return "sandbox_lost";
    case ErrorCode::ending: return "ending";
    case ErrorCode::paused: return "paused";
    case ErrorCode::protocol: return "protocol";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

Error Error::at(std::string_view step) && {
  message.insert(0, ": ").insert(0, step);
  return std::move(*this);
}

Error Error::at(std::string_view step) const& { return Error(*this).at(step); }

namespace {

ErrorCode code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH: return ErrorCode::not_found;
    case EEXIST:
    case ENOTEMPTY: return ErrorCode::already_exists;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::permission_denied;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EXDEV: return ErrorCode::invalid_argument;
    case ENOSPC:
    case EDQUOT:
    case EAGAIN:
    case ENOMEM:
    case EFBIG: return ErrorCode::limit_reached;
    case ENOSYS:
    case EOPNOTSUPP: return ErrorCode::unsupported;
    case EMFILE:  // of this very process or machine: no limit that a caller has used up
    case ENFILE:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EHOSTUNREACH: return ErrorCode::unavailable;
    case ETIMEDOUT: return ErrorCode::timeout;
    case ECANCELED: return ErrorCode::cancelled;
    default: return ErrorCode::internal;
  }
}

}  // namespace

Error errno_error(std::string_view what, int number) {
  std::string message = std::string(what) + ": " + std::generic_category().message(number);
  if (number == EMFILE) message += " (raise the limit: LimitNOFILE= of the service's unit, or `ulimit -n`)";
  return Error{code_of(number), std::move(message)};
}

std::unexpected<Error> fail_errno(std::string_view what) {
  const int number = errno;
  return std::unexpected(errno_error(what, number));
}

}  // namespace cloche
