// A child that borrows this process's memory, so that a large server does not pay for a copy.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>

namespace cloche::process {

// Memory for the stack of such a child; unmapped with the object.
class ChildStack {
 public:
  explicit ChildStack(std::size_t size);
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;
  ~ChildStack();

  // False if there is no memory; errno says why.
  explicit operator bool() const { return memory_ != nullptr; }
  void* top() const { return static_cast<char*>(memory_) + size_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_;
};

// Runs `run(argument)` in a child, with all signals blocked there. Returns its number, or -1 with errno set. Without
// CLONE_VFORK in `flags` the child runs at the same time as its parent, and the stack has to outlive it.
pid_t clone_borrowing(int (*run)(void*), void* argument, const ChildStack& stack, int flags);

// Blocks all signals of this thread: no handler of this process may run in a child.
class SignalsBlocked {
 public:
  SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  sigset_t former_;
};

}  // namespace cloche::process
