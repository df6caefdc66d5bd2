// The head of a request, read strictly: what two readers could take in two ways is refused. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/fields.hpp"
#include "http/server/limits.hpp"
#include "http/server/request/request_error.hpp"
#include "http/server/request/target.hpp"

namespace cloche::http {

enum class Version { http_1_0, http_1_1 };

// The framing of the body. Neither: there is no body.
struct Framing {
  bool chunked = false;
  std::optional<std::uint64_t> length;
};

struct RequestHead {
  std::string method;
  Target target;          // CONNECT has none
  std::string authority;  // proxy: `host` or `host:port` of another server, as it came; empty: this one
  Version version = Version::http_1_1;
  Fields fields;
  Framing framing;
  bool keeps_alive = false;       // the client wants to keep the connection
  bool expects_continue = false;  // the client waits for 100 before it sends the body
};

// Looks for the end of a head while it comes, and refuses what can never become one without waiting for the rest.
class HeadFinder {
 public:
  explicit HeadFinder(HeadLimits limits) : limits_(limits) {}

  // `bytes` is everything received so far: the bytes of the last call, and more. Returns the length of the head
  // including the empty line, or nothing while the end is missing.
  OrRequestError<std::optional<std::size_t>> find(std::string_view bytes);

 private:
  OrRequestError<void> end_line(std::size_t length);

  HeadLimits limits_;
  std::size_t seen_ = 0;
  std::size_t line_start_ = 0;
  std::size_t lines_ = 0;
  bool skipped_empty_line_ = false;
};

// Reads a whole head, as HeadFinder found it. For a proxy the target is not decoded, so it has no segments, and the
// Host header may differ from the authority: the caller compares them.
OrRequestError<RequestHead> parse_head(std::string_view head, Role role = Role::origin);

// Reads "name: value" without the line's end.
OrRequestError<std::pair<std::string, std::string>> parse_field(std::string_view line);

}  // namespace cloche::http
