// The target of a request: its path in decoded segments, its query in decoded parameters. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/server/request/request_error.hpp"

namespace cloche::http {

// What a server is for its clients. A proxy also takes requests for other servers: `CONNECT host:port` and targets of
// the form `http://host/path`.
enum class Role { origin, proxy };

// Decoded segments are UTF-8 without NUL, and never "." or "..". A segment that was sent with an encoded slash contains
// a slash: it is still one segment, and the router never passes it as a name.
struct Target {
  std::string path;                   // as it came, percent-encoded
  std::string query;                  // as it came, without the question mark
  std::vector<std::string> segments;  // "/a/b" has two, "/a/" has "a" and "", "/" has one that is empty, "*" has none
};

// Reads a target of the form "/path?query" or "*".
OrRequestError<Target> parse_target(std::string_view text);
// The same for a request that is passed on: path and query as they came, without segments. An empty path is "/".
OrRequestError<Target> split_target(std::string_view text);

// The parameters of a query in their order, duplicates included.
class Query {
 public:
  using Items = std::vector<std::pair<std::string, std::string>>;

  explicit Query(Items items = {}) : items_(std::move(items)) {}

  const Items& items() const { return items_; }
  std::size_t count(std::string_view name) const;
  // The first of this name.
  std::optional<std::string_view> find(std::string_view name) const;

 private:
  Items items_;
};

// Reads "a=1&b=two+words&c". Names and values must be UTF-8 without NUL once decoded.
OrRequestError<Query> parse_query(std::string_view text);

}  // namespace cloche::http
