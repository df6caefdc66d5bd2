// One request of a client, passed on to a server that listens on a port of a sandbox's own loopback.
#pragma once

#include "api/proxy/head.hpp"
#include "api/session_auth_check.hpp"
#include "http/server/forwarding.hpp"
#include "session/session.hpp"

namespace cloche::api {

// The request of an exchange, for the part of its path behind `/`: `rest` is percent-encoded.
ProxyHead proxy_head_of(const http::Exchange& exchange, std::uint16_t port, std::string_view rest);

// HTTP, or a WebSocket. The caller has counted the connection (Session::admit_connection). An app may respond without
// end; `over` ends the response when the client is no longer authorized. Errors are those of LiveSandbox::connect
// (`not_found` if nothing listens) and of Forwarding; `permission_denied` if `over` was first.
Task<Status> forward_to_port(http::Exchange& exchange, session::Session& session, ProxyHead head,
                             http::ForwardRules rules, Task<Revoked> over);

// Whether an error of it is neither the service's fault nor the client's.
bool is_of_server(ErrorCode code);

}  // namespace cloche::api
