// Runs what a command does with a service, to its end or to a signal.
#pragma once

#include <functional>

#include "cli/client/server_flags.hpp"

namespace cloche::cli {

// Its result is the exit code.
using ClientWork = std::function<Task<Result<int>>(Service&)>;

enum class OnSignal {
  end,         // SIGINT, SIGTERM, SIGHUP and SIGQUIT cancel the work; the exit code is 128 and the signal's number
  leave_alone  // the work minds them itself
};

// Throws errors, which main reports.
int run_client(const ServerFlags& flags, ClientWork work, OnSignal on_signal = OnSignal::end);

}  // namespace cloche::cli
