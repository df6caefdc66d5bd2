// The first bytes of a tunnel: if they are TLS, the server name must be the destination's. Private to this folder.
#pragma once

#include <string>

#include "egress/broker/state.hpp"

namespace cloche::egress {

enum class FirstBytes {
  any,  // another protocol is fine, and the server may speak first
  tls,  // a client hello, in time
};

// Reads until it is known what the bytes are, and returns them; empty: the program sends none. Nothing of a client
// hello that is refused is passed on.
Task<OrRefusal<std::string>> read_first_bytes(Live& live, http::Stream& program, FirstBytes wanted);

// Whether a client hello with this server name may be sent to the destination.
OrRefusal<> check_server_name(const Policy& policy, const Destination& destination, std::string_view server_name);

}  // namespace cloche::egress
