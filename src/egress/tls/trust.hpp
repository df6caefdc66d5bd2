// Which authorities are trusted: by this host when it verifies servers, and by the programs of a sandbox.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "egress/tls/openssl_types.hpp"

namespace cloche::egress {

// Files in which Linux distributions keep the certificates of all authorities that a host trusts.
std::span<const std::string_view> usual_bundles();

// The one that SSL_CERT_FILE names if it is set, else the first usual one that exists.
std::optional<std::string> find_system_bundle();

// For clients that verify servers: the host's authorities and, if it is not empty, those of the file `extra_ca`.
// TLS 1.2 or later, HTTP/1.1 alone. `invalid_argument` if a file cannot be read. Blocks: call it once.
Result<SslContext> make_client_context(const std::string& extra_ca);
// For TlsStream::connect_unverified.
Result<SslContext> make_unverifying_context();

// The content of the file that a sandbox's programs trust: what the host trusts, `extra_ca` and the authority of
// CertificateAuthority::certificate_pem. `not_found` if the host has no bundle.
Result<std::string> make_trust_bundle(const std::string& extra_ca, std::string_view authority_pem);

// The variables by which programs find a bundle at this path.
std::map<std::string, std::string> trust_variables(const std::string& path);

}  // namespace cloche::egress
