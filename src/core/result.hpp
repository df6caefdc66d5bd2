// Result and Error: how a step of Cloche says that it could not do its work.
// How a sandboxed program ended is never an Error; see cloche/outcome.hpp.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace cloche {

enum class ErrorCode {
  invalid_argument,   // the caller asked for something that makes no sense
  not_found,          // the named object does not exist
  already_exists,     // the named object already exists
  permission_denied,  // the caller, or Cloche on its behalf, may not do this
  limit_reached,      // a quota, a pool or a size limit is used up
  unsupported,        // this host, engine or runtime cannot do it
  unavailable,        // an engine or service does not answer
  timeout,            // a deadline passed
  cancelled,          // the caller took the request back
  sandbox_lost,       // the sandbox died or was destroyed meanwhile
  ending,             // the named thing is being ended, and takes nothing new
  paused,             // the named thing does nothing until it is resumed
  protocol,           // the other side said something it must not say
  internal,           // a bug, or a system call that failed for no foreseeable reason
};

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;

  // The same error with the step that failed in front: `create sandbox: <message>`.
  Error at(std::string_view step) &&;
  Error at(std::string_view step) const&;
};

template <class T = void>
using Result = std::expected<T, Error>;
using Status = Result<void>;

// An Error from errno: `<what>: No such file or directory`, with the code that fits the number.
Error errno_error(std::string_view what, int number);

inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}
inline std::unexpected<Error> fail(Error error) { return std::unexpected(std::move(error)); }
// Reads errno itself: call it straight after the system call that failed.
std::unexpected<Error> fail_errno(std::string_view what);

}  // namespace cloche

#define CLOCHE_CONCAT_(a, b) a##b
#define CLOCHE_CONCAT(a, b) CLOCHE_CONCAT_(a, b)
#define CLOCHE_TRY_AS_(leave, result, declaration, ...)          \
  auto result = (__VA_ARGS__);                                   \
  if (!result) leave std::unexpected(std::move(result).error()); \
  declaration = std::move(*result)
#define CLOCHE_CHECK_AS_(leave, result, ...) \
  if (auto result = (__VA_ARGS__); !result) leave std::unexpected(std::move(result).error())

// `CLOCHE_TRY(auto file, open(path));` declares `file`, or returns the error.
#define CLOCHE_TRY(declaration, ...) \
  CLOCHE_TRY_AS_(return, CLOCHE_CONCAT(cloche_result_, __LINE__), declaration, __VA_ARGS__)
// `CLOCHE_CHECK(sync(file));` continues, or returns the error.
#define CLOCHE_CHECK(...) CLOCHE_CHECK_AS_(return, CLOCHE_CONCAT(cloche_result_, __LINE__), __VA_ARGS__)
// The same in a coroutine.
#define CLOCHE_CO_TRY(declaration, ...) \
  CLOCHE_TRY_AS_(co_return, CLOCHE_CONCAT(cloche_result_, __LINE__), declaration, __VA_ARGS__)
#define CLOCHE_CO_CHECK(...) CLOCHE_CHECK_AS_(co_return, CLOCHE_CONCAT(cloche_result_, __LINE__), __VA_ARGS__)
