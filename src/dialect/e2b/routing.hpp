// Which requests are E2B's, and where they go: to the control plane, or to a port of a sandbox. No I/O.
//
// Sandboxes are addressed in two ways: by the header fields E2b-Sandbox-Id and E2b-Sandbox-Port, or by a host name,
// `PORT-ID.DOMAIN`. If a domain is configured, the header fields count only where the host name says nothing: behind
// `sandbox.DOMAIN`, localhost and addresses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/fields.hpp"
#include "http/server/request/target.hpp"

namespace cloche::dialect::e2b {

enum class Destination {
  own_routes,   // not E2B's
  control,      // the control plane
  sandbox,      // a port of a sandbox
  signed_file,  // a file of the sandbox whose signature it has
  invalid,      // E2B's, but it names no valid sandbox
};

// How a request names its sandbox.
enum class NamedBy { header, host };

struct Routed {
  Destination to = Destination::own_routes;
  std::string sandbox;
  std::uint16_t port = 0;
  NamedBy by = NamedBy::header;
  std::string why;  // it is invalid
};

// `domain` is that of the configuration, with or without a port; empty: none.
Routed route_of(std::string_view method, const http::Target& target, const http::Fields& fields,
                std::string_view domain);

// Whether a Host belongs to the domain: `api`, `sandbox` or the name of a port.
bool is_host_of(std::string_view host, std::string_view domain);

// The id in a path or a header: `ID`, or `ID-CLIENT` as old clients write it. Empty if it is invalid.
std::string sandbox_id_of(std::string_view text);

}  // namespace cloche::dialect::e2b
