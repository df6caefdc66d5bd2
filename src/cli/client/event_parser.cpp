#include "cli/client/event_parser.hpp"

#include <algorithm>
#include <utility>

namespace cloche::cli {

Result<std::vector<StreamEvent>> EventParser::feed(std::string_view bytes) {
  std::vector<StreamEvent> events;
  while (!bytes.empty()) {
    // A return and a line feed are one end of a line, though they come in two pieces.
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const auto end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (line_.size() + end + event_.data.size() > most_.count) {
      return fail(ErrorCode::limit_reached, "the service sent an event that is too long");
    }
    line_.append(bytes.substr(0, end));
    bytes.remove_prefix(end);
    if (bytes.empty()) break;
    after_return_ = bytes.front() == '\r';
    bytes.remove_prefix(1);
    const std::string line = std::exchange(line_, {});
    take_line(line, events);
  }
  return events;
}

void EventParser::take_line(std::string_view line, std::vector<StreamEvent>& events) {
  if (line.empty()) {
    if (has_data_) {
      StreamEvent done = event_;
      if (done.name.empty()) done.name = "message";
      events.push_back(std::move(done));
    }
    event_.name.clear();
    event_.data.clear();
    has_data_ = false;
    return;
  }
  const auto colon = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field == "id" && value.find('\0') == value.npos) event_.id = value;
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
}

}  // namespace cloche::cli
