// What the library throws. How a program ended is never thrown: that is an Outcome.
#pragma once

#include <stdexcept>
#include <string>

namespace cloche {

// Cloche could not do its work. what() names the step, the thing and what to do about it.
class SandboxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A deadline passed.
class SandboxTimeoutError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

// A quota, a pool, a disk or another limit is used up.
class SandboxResourceError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

// The named image, file, runtime or exec is not there.
class SandboxNotFoundError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

// The call makes no sense as it is: a bad path, an absurd limit.
class SandboxArgumentError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

// The sandbox died or was destroyed meanwhile.
class SandboxLostError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

// This host or engine cannot do it, or does not answer.
class SandboxUnavailableError : public SandboxError {
 public:
  using SandboxError::SandboxError;
};

}  // namespace cloche
