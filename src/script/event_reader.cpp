#include "script/event_reader.hpp"

#include <algorithm>
#include <utility>

#include "json/raw_json.hpp"

namespace cloche {

namespace {

constexpr std::size_t longest_label = 1024;

ScriptEvent no_event(const std::string& why) {
  return ErrorEvent{ScriptFault::protocol, "the script wrote an invalid event to its event descriptor: " + why, {}};
}

std::optional<LogEvent::Level> level_of(std::string_view name) {
  for (const auto level :
       {LogEvent::Level::debug, LogEvent::Level::info, LogEvent::Level::warning, LogEvent::Level::error}) {
    if (to_string(level) == name) return level;
  }
  return std::nullopt;
}

ScriptEvent log_of(const JsonMembers& members) {
  auto message = members.text("message");
  const auto level = level_of(members.text("level").value_or("info"));
  if (!message || !level) return no_event("log without a message or with an unknown level");
  return LogEvent{LogEvent::Source::script, *level, std::move(*message)};
}

ScriptEvent intermediate_of(const JsonMembers& members) {
  auto label = members.text("label");
  const auto data = members.raw("data");
  if (!label || label->size() > longest_label || !data) {
    return no_event("intermediate without data or without a label of at most 1024 bytes");
  }
  return IntermediateEvent{std::move(*label), std::string(*data)};
}

ScriptEvent final_result_of(const JsonMembers& members) {
  const auto data = members.raw("data");
  if (!data) return no_event("final_result without data");
  return FinalResultEvent{std::string(*data)};
}

// The server decides how the script ended: a script only reports what it raised.
ScriptEvent error_of(const JsonMembers& members) {
  auto message = members.text("message");
  const auto kind = members.text("kind").value_or("exception");
  if (!message || (kind != "exception" && kind != "data")) {
    return no_event("error without a message or with a kind that scripts must not send");
  }
  const auto fault = kind == "data" ? ScriptFault::data : ScriptFault::exception;
  return ErrorEvent{fault, std::move(*message), members.text("traceback").value_or("")};
}

}  // namespace

void EventReader::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  if (exhausted_) return;
  buffer_.erase(0, position_);
  searched_ -= std::min(searched_, position_);
  position_ = 0;
  buffer_.append(bytes);
}

std::optional<std::string_view> EventReader::take_line() {
  const auto end = buffer_.find('\n', std::max(searched_, position_));
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    return std::nullopt;
  }
  const auto line = std::string_view(buffer_).substr(position_, end - position_);
  position_ = end + 1;
  return line;
}

std::optional<ScriptEvent> EventReader::next() {
  while (!exhausted_) {
    if (bytes_ > limits_.bytes) return exhaust("more than " + std::to_string(limits_.bytes) + " bytes of events");
    const auto line = take_line();
    if (!line) {
      const bool too_long = line_too_long_ || buffer_.size() - position_ > limits_.line;
      if (too_long) position_ = searched_ = buffer_.size();  // not kept while its end is waited for
      if (!too_long || std::exchange(line_too_long_, true)) return std::nullopt;
    } else if (std::exchange(line_too_long_, false) || line->find_first_not_of(" \t\r") == line->npos) {
      continue;
    }
    if (++events_ > limits_.events) return exhaust("more than " + std::to_string(limits_.events) + " events");
    if (!line || line->size() > limits_.line) {
      return no_event("line of more than " + std::to_string(limits_.line) + " bytes");
    }
    return parse(*line);
  }
  return std::nullopt;
}

std::optional<ScriptEvent> EventReader::finish() {
  if (auto event = next()) return event;
  const bool half = !exhausted_ && (line_too_long_ || position_ < buffer_.size());
  buffer_.clear();
  position_ = searched_ = 0;
  if (!half || std::exchange(line_too_long_, false)) return std::nullopt;
  return no_event("incomplete line");
}

ScriptEvent EventReader::exhaust(const std::string& why) {
  exhausted_ = true;
  buffer_ = {};
  position_ = searched_ = 0;
  return ErrorEvent{ScriptFault::output_limit, "the script sent " + why, {}};
}

ScriptEvent EventReader::parse(std::string_view line) {
  const auto members = JsonMembers::of(line);
  if (!members) return no_event(members.error().message);
  const auto type = members->text("type");
  if (!type) return no_event("missing type");
  if (*type == "log") return log_of(*members);
  if (*type == "intermediate") return intermediate_of(*members);
  if (*type == "final_result") return final_result_of(*members);
  if (*type == "error") return error_of(*members);
  if (*type == "ready" && events_ == 1) return ReadyEvent{};
  return no_event("unknown type, or a type that scripts must not send");
}

}  // namespace cloche
