// The lines of an execution's answer: one JSON object each. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "context/cell.hpp"

namespace cloche::dialect::e2b {

std::string execution_count_line(std::uint64_t count);
// Text of stdout or stderr; it must be UTF-8.
std::string output_line(std::string_view stream, std::string_view text, std::chrono::system_clock::time_point at);
std::string error_line(const CellError& error);
std::string keepalive_line();
std::string end_line();

// A result as a context's driver describes it: {"main": true, "forms": {MIME type: form}}. The driver shares its
// process with untrusted code, so this may be any bytes: empty if it is not such an object.
std::string result_line(std::string_view described);

}  // namespace cloche::dialect::e2b
