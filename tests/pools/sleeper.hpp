// A program that runs until it is made to end, and the look at how it ended.
#pragma once

#include <memory>
#include <string>

#include "support/pools.hpp"

namespace cloche {

// Far more than is needed, and far less than the program would run.
inline constexpr std::chrono::seconds at_once{30};

// For a shell: the names of all that runs as the sandbox's user.
inline const std::string users_processes = "for p in /proc/[0-9]*; do [ -O $p ] && cat $p/comm; done 2>/dev/null ";

// A program that says `on` and then sleeps; returns once it has said so.
Task<std::unique_ptr<Exec>> start_sleeper(pool::Lease& lease, std::string zygote = "");

// The error it ended with; that it ended at once, and with an error, is checked.
Task<Error> end_of(Exec& exec);

}  // namespace cloche
