// Fault points: named places where a test can have the process killed, to see what the next one makes of it.
// CLOCHE_FAULT=NAME kills it (SIGKILL) the first time it comes by, CLOCHE_FAULT=NAME:3 the third time. It does
// nothing in a build without tests.
#pragma once

#include <string_view>

namespace cloche {

void fault_point(std::string_view name);

}  // namespace cloche
