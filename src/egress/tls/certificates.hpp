// Certificates as the authority makes them: its own, and those of hosts. No I/O.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "egress/tls/openssl_types.hpp"

namespace cloche::egress {

// A new key for ECDSA with P-256.
Result<Key> make_key();

struct Validity {
  WallTime from;
  WallTime until;
};

// Signed by its own key; it can sign certificates of hosts, and no other authorities.
Result<Certificate> make_authority_certificate(EVP_PKEY& key, const std::string& name, Validity validity);

struct Issuer {
  X509& certificate;
  EVP_PKEY& key;
};
// For a server with this name or address, and no other. `invalid_argument` if it is not a normalized name.
Result<Certificate> make_host_certificate(const Issuer& issuer, EVP_PKEY& key, const std::string& host,
                                          Validity validity);

// PEM, as files contain it. A text with a private key is the caller's to wipe.
Result<std::string> to_pem(X509& certificate);
Result<std::string> to_pem(EVP_PKEY& key);
// The first of its kind in the text. `protocol` if there is none, or it cannot be read.
Result<Certificate> certificate_from_pem(std::string_view text);
Result<Key> key_from_pem(std::string_view text);

}  // namespace cloche::egress
