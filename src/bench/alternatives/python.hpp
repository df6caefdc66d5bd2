// The program that all ways to run a program are measured with.
#pragma once

namespace cloche::bench {

// The host's own, and so the one that sandboxes made from the host's /usr run. Not what a PATH may have in front of it:
// version managers put shell scripts there, which cost more than Python.
inline constexpr const char* host_python = "/usr/bin/python3";
inline constexpr const char* program_text = "print(42)";
inline constexpr const char* program_output = "42\n";

}  // namespace cloche::bench
