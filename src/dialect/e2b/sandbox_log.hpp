// SandboxLog: the last events of one sandbox, for its owner. It ends with the server.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "dialect/e2b/time_text.hpp"

namespace cloche::dialect::e2b {

struct LogEntry {
  Moment time;
  std::string level;  // debug, info, warn or error
  std::string message;
  std::map<std::string, std::string> fields;
};

class SandboxLog {
 public:
  static constexpr std::size_t most_entries = 256;
  static constexpr std::size_t most_bytes = 512;  // of a message or a field's value; the rest is cut off

  void add(std::string level, std::string message, std::map<std::string, std::string> fields = {});
  const std::deque<LogEntry>& entries() const { return entries_; }

 private:
  std::deque<LogEntry> entries_;
};

}  // namespace cloche::dialect::e2b
