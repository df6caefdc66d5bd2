// Ctrl-C and SIGTERM end a measurement between two attempts, so that whatever was started is taken down in order.
#pragma once

#include "core/result.hpp"

namespace cloche::bench {

// While it lives, SIGINT and SIGTERM are noted instead of ending the process.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // `cancelled` once one came.
  static Status check();
};

}  // namespace cloche::bench
