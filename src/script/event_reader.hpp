// EventReader: from the bytes on a script's event lane to events, whatever the bytes and however they are split.
//
// The script can write anything there. An invalid event becomes an error event of fault `protocol`, without its
// content; events that only the server may send are invalid here. If there are too many, one error event of fault
// `output_limit` is returned and the reader accepts nothing more. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "script/script_event.hpp"

namespace cloche {

struct EventLimits {
  std::size_t line = 1024 * 1024;  // of one event, without its line break
  std::uint64_t bytes = 4 * 1024 * 1024;
  std::uint64_t events = 1000;
};

class EventReader {
 public:
  explicit EventReader(EventLimits limits) : limits_(limits) {}

  void feed(std::string_view bytes);
  // The next event; nullopt when more bytes are needed.
  std::optional<ScriptEvent> next();
  // There will be no more bytes: what was written of a last line, if anything.
  std::optional<ScriptEvent> finish();
  // Too much was said; nothing more is taken.
  bool exhausted() const { return exhausted_; }

  std::size_t buffered() const { return buffer_.size(); }

 private:
  std::optional<std::string_view> take_line();
  ScriptEvent parse(std::string_view line);
  ScriptEvent exhaust(const std::string& why);

  EventLimits limits_;
  std::string buffer_;
  std::size_t position_ = 0;  // where the next line starts
  std::size_t searched_ = 0;  // there is no line break up to here
  std::uint64_t bytes_ = 0;
  std::uint64_t events_ = 0;
  bool line_too_long_ = false;  // its rest is skipped
  bool exhausted_ = false;
};

}  // namespace cloche
