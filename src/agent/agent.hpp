// The agent: process 1 of a sandbox, or the child of its relay.
#pragma once

#include <string>

namespace cloche::agent {

// Speaks over stdin and stdout until the channel is gone.
[[noreturn]] void run_agent();

}  // namespace cloche::agent
