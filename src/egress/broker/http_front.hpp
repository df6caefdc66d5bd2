// HTTP of programs: requests to a proxy, or to a server whose requests are read. Private to this folder.
#pragma once

#include <memory>
#include <optional>

#include "egress/broker/state.hpp"

namespace cloche::egress {

// Until the program has no more requests. `server`: the program means this server, and its requests name no other;
// none: it uses a proxy.
Task<> serve_requests(Live& live, std::unique_ptr<http::Stream> program, std::optional<Destination> server);

// `host` or `host:port`. `invalid_argument` if it is neither; `usual_port` 0: the port is required.
Result<Destination> parse_authority(std::string_view authority, std::uint16_t usual_port);

}  // namespace cloche::egress
