// Server-sent events as they are sent. No I/O.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::http {

struct ServerEvent {
  std::string name;                                // none: the client takes it for a "message"
  std::string id;                                  // what a reconnecting client sends as Last-Event-ID
  std::string data;                                // UTF-8, any number of lines
  std::optional<std::chrono::milliseconds> retry;  // after which a client that lost the line comes back
};

// `invalid_argument` when name or id would break out of its line.
Result<std::string> serialise_event(const ServerEvent& event);

// A line that clients skip.
inline constexpr std::string_view heartbeat = ":\n\n";

}  // namespace cloche::http
