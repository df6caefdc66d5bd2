// Keeps web pages away from a server that asks for no token: a browser on this machine would carry their requests to
// it. A page that made its own name point here (DNS rebinding) is known by its Host, any other by Origin and
// Sec-Fetch-Site.
#pragma once

#include <functional>
#include <string_view>

#include "auth/authenticator.hpp"
#include "core/result.hpp"
#include "http/fields.hpp"
#include "http/server/peer.hpp"

namespace cloche::api {

using HostTest = std::function<bool(std::string_view host)>;

// "localhost", 127.0.0.0/8 or "[::1]", with or without a port.
bool names_this_machine(std::string_view host);

// `permission_denied` when a page of another origin may have sent it. `is_ours` is true of every Host under which the
// service is known.
Status check_call_origin(const http::Fields& fields, const http::Peer& peer,
                         const HostTest& is_ours = names_this_machine);

// Where the other end of the connection is.
auth::PeerPlace place_of(const http::Peer& peer);

}  // namespace cloche::api
