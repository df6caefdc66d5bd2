// Identities: an authority of a test, and contexts for servers and clients.
#pragma once

#include <string>

#include "egress/tls/certificates.hpp"

namespace cloche::egress::testing {

struct ValidDays {
  int from = -1;  // relative to now
  int until = 1;
};

class TestAuthority {
 public:
  TestAuthority();

  // A server with a certificate for this host, and the authority's rules for servers.
  SslContext server(const std::string& host, ValidDays valid = {}) const;
  // A client that trusts this authority alone.
  SslContext client() const;
  const std::string& pem() const { return pem_; }

  // A server whose certificate is signed by its own key.
  static SslContext self_signed_server(const std::string& host);

 private:
  Key key_;
  Certificate certificate_;
  std::string pem_;
};

// Only this version of TLS.
SslContext only(SslContext context, int version);

}  // namespace cloche::egress::testing
