// Certificates for tests of TLS: an authority, and what it signs.
#pragma once

#include <string>

#include "http/endpoint.hpp"

namespace cloche::http::testing {

// Makes an authority with a server's certificate for 127.0.0.1 and localhost, and a client's, in the directory:
// ca.pem, server-cert.pem, server-key.pem, cert.pem, key.pem.
void make_certificates(const std::string& directory);

// The client's part of it.
TlsFiles client_files(const std::string& directory);

}  // namespace cloche::http::testing
