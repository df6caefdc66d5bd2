// The server's side of TLS. Private to this folder.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "http/server/server.hpp"

namespace cloche::http {

// TLS 1.2 or later with this certificate. `invalid_argument` when a file cannot be read or the key does not fit.
Result<std::shared_ptr<asio::ssl::context>> make_tls_context(const ServerCertificate& certificate);

}  // namespace cloche::http
