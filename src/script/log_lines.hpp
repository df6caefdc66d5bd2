// LogLines: what a script prints on one of its outputs, as log events, a line each. No I/O.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "script/script_event.hpp"

namespace cloche {

class LogLines {
 public:
  // A longer line becomes several events.
  static constexpr std::size_t longest = 16 * 1024;

  explicit LogLines(LogEvent::Source source) : source_(source) {}

  std::vector<LogEvent> feed(std::string_view bytes);
  // The last line, when it has no end.
  std::vector<LogEvent> finish();

 private:
  LogEvent event(std::string_view line) const;

  LogEvent::Source source_;
  std::string line_;
};

}  // namespace cloche
