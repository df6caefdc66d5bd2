#include "bench/interrupt.hpp"

#include <csignal>

namespace cloche::bench {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note(int) { interrupted = 1; }

}  // namespace

Interrupts::Interrupts() {
  interrupted = 0;
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

Interrupts::~Interrupts() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

Status Interrupts::check() {
  if (interrupted != 0) return fail(ErrorCode::cancelled, "interrupted");
  return {};
}

}  // namespace cloche::bench
