#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace cloche {

// Resets every signal to its default action and unblocks all of them, for a child about to execute a program. The C
// library refuses to touch the two signals it reserves for threads, and a program inherits them like the others: if one
// of our ancestors ignores them, only the system call can undo it. Safe after fork or vfork.
__attribute__((no_sanitize("address", "thread", "undefined"), always_inline)) inline void reset_all_signals() {
  constexpr int kernel_signals = 64;
  const std::array<unsigned long, 4> by_default = {};  // the kernel's struct sigaction: SIG_DFL, no flags, empty mask
  for (int signal = 1; signal <= kernel_signals; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, by_default.data(), nullptr, kernel_signals / 8);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace cloche
