// EventParser: server-sent events out of bytes as they come. No I/O.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/result.hpp"

namespace cloche::cli {

struct StreamEvent {
  std::string name;  // "message" where none was said
  std::string id;    // the last one that was said, of this event or before
  std::string data;
};

class EventParser {
 public:
  explicit EventParser(Bytes most = mib(16)) : most_(most) {}

  // The events that are complete now. `limit_reached` when one is larger than any of the service's can be.
  Result<std::vector<StreamEvent>> feed(std::string_view bytes);

 private:
  void take_line(std::string_view line, std::vector<StreamEvent>& events);

  Bytes most_;
  std::string line_;  // that has no end yet
  bool after_return_ = false;
  StreamEvent event_;
  bool has_data_ = false;
};

}  // namespace cloche::cli
