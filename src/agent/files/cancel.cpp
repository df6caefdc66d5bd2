#include "agent/files/cancel.hpp"

#include <csignal>

namespace cloche::agent {

namespace {

volatile std::sig_atomic_t signalled = 0;

void on_sigterm(int) { signalled = 1; }

}  // namespace

void cancel_on_sigterm() {
  struct sigaction action = {};
  action.sa_handler = on_sigterm;
  // No SA_RESTART: a read or write that waits has to return.
  sigaction(SIGTERM, &action, nullptr);
}

bool cancelled() { return signalled != 0; }

void forget_cancellation() { signalled = 0; }

}  // namespace cloche::agent
