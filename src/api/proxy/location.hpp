// Where a server in a sandbox sends its clients: URLs in its answers, rewritten so that they cannot lead from its place
// below the service to anything else of the service. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "http/fields.hpp"
#include "http/server/peer.hpp"

namespace cloche::api {

// A host as clients understand it: lower case, numbers of IPv4 in any of their forms as "a.b.c.d".
struct HostPort {
  std::string host;
  std::uint16_t port = 0;  // 0: none was given

  bool operator==(const HostPort&) const = default;
};

// The part between "//" and the path. `invalid_argument` for what clients may parse differently: user names,
// backslashes, percent signs, bytes beyond ASCII.
Result<HostPort> parse_authority(std::string_view text);

// Names under which a client may know this service: from Host, X-Forwarded-Host and Forwarded, and the address that it
// is connected to.
std::vector<HostPort> names_of_service(const http::Fields& request, const http::Peer& peer);

struct ProxyPlace {
  std::string prefix;      // where clients find the server: a path without a slash at its end
  std::string path;        // of the request, as the server sees it: "/a/b"
  std::uint16_t port = 0;  // the server's own
  std::vector<HostPort> service;
};

// The URL as the client gets it. Dot segments are resolved as clients do, encoded ones too, and end at the server's own
// root; paths get the prefix. URLs of other hosts stay as they are. `protocol` for a URL of the service outside the
// prefix, and for one that clients may read in more than one way.
Result<std::string> proxied_url(std::string_view url, const ProxyPlace& place);

}  // namespace cloche::api
