// Channel: the one byte stream between server and agent. A backend provides it; the link above it uses frames.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/async/task.hpp"

namespace cloche {

class Channel {
 public:
  virtual ~Channel() = default;

  // Reads some bytes from the agent; 0 when the agent is gone. One reader at a time.
  virtual Task<Result<std::size_t>> read_some(std::span<char> into) = 0;
  // Writes all bytes to the agent. One writer at a time.
  virtual Task<Status> write_all(std::string_view bytes) = 0;
  // Ends pending reads and writes with an error. The sandbox keeps running, and `recover` can take it over.
  virtual void close() = 0;
};

}  // namespace cloche
