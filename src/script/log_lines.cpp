#include "script/log_lines.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace cloche {

LogEvent LogLines::event(std::string_view line) const {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto level = source_ == LogEvent::Source::err ? LogEvent::Level::warning : LogEvent::Level::info;
  return LogEvent{source_, level, to_utf8(line)};
}

std::vector<LogEvent> LogLines::feed(std::string_view bytes) {
  std::vector<LogEvent> events;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::size_t part = std::min({end, bytes.size(), longest - line_.size()});
    line_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (part == end) {
      bytes.remove_prefix(1);
      events.push_back(event(line_));
      line_.clear();
    } else if (line_.size() == longest) {
      // Not in the middle of a character.
      const std::size_t whole = line_.size() - incomplete_tail(line_);
      events.push_back(event(std::string_view(line_).substr(0, whole)));
      line_.erase(0, whole);
    }
  }
  return events;
}

std::vector<LogEvent> LogLines::finish() {
  std::vector<LogEvent> events;
  if (!line_.empty()) events.push_back(event(line_));
  line_.clear();
  return events;
}

}  // namespace cloche
