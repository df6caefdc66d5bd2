// CertificateAuthority: signs certificates for the hosts whose TLS the broker ends itself.
//
// Each server has one. Its key and certificate are in one file of the state directory, mode 0600, and are made once.
// Only sandboxes trust it, by the bundle that they get (egress/tls/trust.hpp).
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "egress/tls/certificates.hpp"

namespace cloche::egress {

class CertificateAuthority {
 public:
  static constexpr std::chrono::days lifetime{3650};
  static constexpr std::chrono::days host_lifetime{7};
  static constexpr std::chrono::days renewed_before{1};
  // Clocks differ between a sandbox's programs and this host only by mistake, but by hours then.
  static constexpr std::chrono::days already_valid{1};
  static constexpr std::size_t most_contexts = 256;

  // Reads `egress-authority.pem` of the directory, or makes it; of several processes that do so at once, one makes it.
  // `instance` is part of the authority's name, for people who look at a certificate. `protocol` if the file is damaged
  // or has expired, `permission_denied` if other users can read it: it is never replaced. Blocks shortly.
  static Result<std::shared_ptr<CertificateAuthority>> open(const std::string& directory, const std::string& instance,
                                                            Clocks clocks = {});

  CertificateAuthority(const CertificateAuthority&) = delete;
  CertificateAuthority& operator=(const CertificateAuthority&) = delete;
  ~CertificateAuthority();

  // Its certificate, for those who shall trust it.
  const std::string& certificate_pem() const { return certificate_pem_; }

  // What a server needs to be `host`, a normalized name or an address, towards a client: TLS 1.2 or later, HTTP/1.1
  // alone. Certificates are kept, the latest ones, and made again before they expire.
  Result<SslContext> context_for(const std::string& host);

 private:
  struct Made {
    SslContext context;
    WallTime until;
    std::list<std::string>::iterator use;
  };

  CertificateAuthority(Key key, Certificate certificate, Key host_key, std::string pem, Clocks clocks);
  Result<SslContext> make_context(const std::string& host, Validity validity);

  Key key_;
  Certificate certificate_;
  Key host_key_;  // of all hosts, for as long as this process runs
  std::string certificate_pem_;
  Clocks clocks_;
  std::map<std::string, Made, std::less<>> made_;
  std::list<std::string> uses_;  // the latest first
};

}  // namespace cloche::egress
