// AgentLog: what an agent says on its stderr, as lines for the log: short, printable, and not too many. No I/O.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

class AgentLog {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes bytes as they arrive and returns the lines to log now. Beyond a few lines per minute the rest is only
  // counted; the count is added to the next line.
  std::vector<std::string> take(std::string_view bytes, Clock::time_point now);

 private:
  std::optional<std::string> finish_line(Clock::time_point now);

  std::string line_;
  Clock::time_point minute_;
  int lines_ = 0;
  int dropped_ = 0;
};

}  // namespace cloche
