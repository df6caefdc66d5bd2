#include "process/borrowed_clone.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <cerrno>

namespace cloche::process {

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int share_memory = 0;  // the thread sanitizer takes every child for a fork and marks its memory as its own
#else
constexpr int share_memory = CLONE_VM;
#endif

}  // namespace

ChildStack::ChildStack(std::size_t size) : size_(size) {
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (mapped != MAP_FAILED) memory_ = mapped;
}

ChildStack::~ChildStack() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &former_);
}

SignalsBlocked::~SignalsBlocked() {
  const int number = errno;
  ::pthread_sigmask(SIG_SETMASK, &former_, nullptr);
  errno = number;
}

pid_t clone_borrowing(int (*run)(void*), void* argument, const ChildStack& stack, int flags) {
  const SignalsBlocked blocked;
  return ::clone(run, stack.top(), share_memory | flags | SIGCHLD, argument);
}

}  // namespace cloche::process
