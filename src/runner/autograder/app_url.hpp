// The target of a request to an application in a sandbox: only ever its own loopback. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cloche/container_types.hpp"
#include "core/result.hpp"

namespace cloche::runner {

struct AppTarget {
  std::uint16_t port = 0;
  std::string target;  // path and query, percent-encoded

  std::string url() const { return "http://localhost:" + std::to_string(port) + target; }
};

// From a path, or from a whole URL whose host is this one. Bytes that are not allowed in URLs are percent-encoded.
Result<AppTarget> parse_app_target(std::string_view endpoint, std::uint16_t default_port);

// Appends to the query.
void add_params(AppTarget& target, const NameValues& params);

// The encoding of a form by a browser: name=value&…
std::string form_encoded(const NameValues& values);

}  // namespace cloche::runner
