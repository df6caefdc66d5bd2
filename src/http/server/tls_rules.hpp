// How our servers use TLS, whatever their certificate is.
#pragma once

#include <openssl/ssl.h>

namespace cloche::http {

// TLS 1.2 or later, without renegotiation and compression. Clients that request a protocol by name get HTTP/1.1 if it
// is among them; otherwise the handshake continues without one.
void set_server_rules(SSL_CTX& context);

}  // namespace cloche::http
