// Keeps what a program prints, up to a limit. Blocking.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/bytes.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "process/child.hpp"

namespace cloche::process {

struct Captured {
  int fd = -1;  // the end of a pipe that is read from; not owned
  Bytes most;
  std::string kept;            // the first `most` bytes
  std::uint64_t produced = 0;  // the bytes that were read
};

enum class CaptureEnd {
  ended,         // the program has ended and its outputs are read
  output_limit,  // an output is longer than its limit; the program may still run
};

// Reads until the program has ended or a limit is reached. It does not wait for other processes that keep the pipes
// open. `timeout` or `cancelled` if the token says so. The program is neither killed nor reaped.
Result<CaptureEnd> capture(const Child& child, std::span<Captured> outputs, const CancelToken& token);

}  // namespace cloche::process
