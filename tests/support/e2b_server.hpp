// E2bServer: a Cloche service whose E2B API makes the sandboxes of tests: a Cloche on a Cloche. One for a whole test
// program.
#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"
#include "support/lack.hpp"

namespace cloche::testing_support {

// What is missing on this host for it.
std::optional<Lack> lack_of_e2b_server();

// The address of the program's server, which is started when it is first asked for. It ends with the test program.
Result<std::string> e2b_server_url();

// Any key will do: the server serves only this machine.
inline constexpr const char* e2b_server_key = "e2b_00000000000000000000000000000000";

}  // namespace cloche::testing_support
