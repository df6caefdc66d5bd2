/// @file
/// Exceptions of the library. How a program ended is never an exception; it is an Outcome.
#pragma once

#include <stdexcept>
#include <string>

#include "cloche/visibility.hpp"

namespace cloche {

/// Cloche could not do its work. what() contains the step, the object and what to do about it.
class CLOCHE_API SandboxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A deadline passed.
class CLOCHE_API SandboxTimeoutError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// A quota, a pool, a disk or another limit is exhausted.
class CLOCHE_API SandboxResourceError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// The image, file, runtime or program does not exist.
class CLOCHE_API SandboxNotFoundError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// The arguments of the call are invalid, such as a bad path or an impossible limit.
class CLOCHE_API SandboxArgumentError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// The sandbox died or was destroyed.
class CLOCHE_API SandboxLostError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// This host or engine does not support the request, or does not respond.
class CLOCHE_API SandboxUnavailableError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

}  // namespace cloche
