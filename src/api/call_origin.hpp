// Keeps web pages away from a server that asks for no token: a browser on this machine would carry their requests to
// it. A page that made its own name point here (DNS rebinding) is known by its Host, any other by Origin and
// Sec-Fetch-Site.
#pragma once

#include "auth/authenticator.hpp"
#include "core/result.hpp"
#include "http/fields.hpp"
#include "http/server/peer.hpp"

namespace cloche::api {

// `permission_denied` when a page of another origin may have sent it.
Status check_call_origin(const http::Fields& fields, const http::Peer& peer);

// Where the other end of the connection is.
auth::PeerPlace place_of(const http::Peer& peer);

// "localhost", 127.0.0.0/8 or "[::1]", with or without a port.
bool names_this_machine(std::string_view host);

}  // namespace cloche::api
