/// @file
/// What the library throws. How a program ended is never thrown: that is an Outcome.
#pragma once

#include <stdexcept>
#include <string>

#include "cloche/visibility.hpp"

namespace cloche {

/// Cloche could not do its work. what() names the step, the thing and what to do about it.
class CLOCHE_API SandboxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A deadline passed.
class CLOCHE_API SandboxTimeoutError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// A quota, a pool, a disk or another limit is used up.
class CLOCHE_API SandboxResourceError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// The named image, file, runtime or exec is not there.
class CLOCHE_API SandboxNotFoundError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// The call makes no sense as it is: a bad path, an absurd limit.
class CLOCHE_API SandboxArgumentError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// The sandbox died or was destroyed meanwhile.
class CLOCHE_API SandboxLostError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

/// This host or engine cannot do it, or does not answer.
class CLOCHE_API SandboxUnavailableError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

}  // namespace cloche
