#include "egress/tls/certificate_authority.hpp"

#include <openssl/crypto.h>
#include <openssl/x509v3.h>

#include "auth/guarded_file.hpp"
#include "core/log.hpp"
#include "crypto/openssl_errors.hpp"
#include "http/server/tls_rules.hpp"

namespace cloche::egress {

namespace {

constexpr std::chrono::seconds lock_patience{10};
constexpr auth::FileRule authority_file_rule{
    .secrecy = auth::Secrecy::secret, .links = auth::Links::refused, .most_bytes = 65536};

// A text with a key in it, which leaves no copy of it behind.
struct WipedText {
  std::string text;
  ~WipedText() { OPENSSL_cleanse(text.data(), text.size()); }
};

struct KeyAndCertificate {
  Key key;
  Certificate certificate;
};

std::unexpected<Error> damaged_authority(const std::string& path, std::string_view what) {
  return fail(ErrorCode::protocol, path + " cannot be used: " + std::string(what) +
                                       "; restore it, or remove it to start with a new authority, which sandboxes "
                                       "that run already will not trust");
}

bool is_past(const ASN1_TIME* time, WallTime now) {
  const auto seconds = static_cast<std::time_t>(now.time_since_epoch().count());
  return ASN1_TIME_cmp_time_t(time, seconds) < 0;
}

Result<KeyAndCertificate> parse_authority(const std::string& path, std::string_view text, WallTime now) {
  const OpensslErrorsDropped dropped;
  auto key = key_from_pem(text);
  if (!key) return damaged_authority(path, key.error().message);
  auto certificate = certificate_from_pem(text);
  if (!certificate) return damaged_authority(path, certificate.error().message);
  if (X509_check_private_key(certificate->get(), key->get()) != 1) {
    return damaged_authority(path, "its key does not belong to its certificate");
  }
  if (X509_check_ca(certificate->get()) != 1) return damaged_authority(path, "its certificate is not an authority's");
  if (is_past(X509_get0_notAfter(certificate->get()), now)) {
    return damaged_authority(path, "its certificate has expired");
  }
  return KeyAndCertificate{std::move(*key), std::move(*certificate)};
}

// not_found if there is no file.
Result<KeyAndCertificate> read_authority(const std::string& path, WallTime now) {
  CLOCHE_TRY(auth::GuardedFile file, auth::read_guarded(path, authority_file_rule));
  const WipedText content{std::move(file.content)};
  return parse_authority(path, content.text, now);
}

Result<KeyAndCertificate> make_authority(const std::string& path, const std::string& instance, WallTime now) {
  CLOCHE_TRY(const auth::FileLock lock, auth::FileLock::take(path, lock_patience));
  auto existing = read_authority(path, now);
  if (existing || existing.error().code != ErrorCode::not_found) return existing;
  CLOCHE_TRY(Key key, make_key());
  const Validity validity{now - CertificateAuthority::already_valid, now + CertificateAuthority::lifetime};
  CLOCHE_TRY(Certificate certificate, make_authority_certificate(*key, "Cloche egress " + instance, validity));
  CLOCHE_TRY(const std::string certificate_text, to_pem(*certificate));
  CLOCHE_TRY(std::string key_text, to_pem(*key));
  const WipedText key_part{std::move(key_text)};
  WipedText content;
  content.text.reserve(key_part.text.size() + certificate_text.size());
  content.text.append(key_part.text).append(certificate_text);
  CLOCHE_CHECK(auth::replace_guarded(path, content.text));
  log::info("made the authority for egress, {}", path);
  return KeyAndCertificate{std::move(key), std::move(certificate)};
}

}  // namespace

CertificateAuthority::CertificateAuthority(Key key, Certificate certificate, Key host_key, std::string pem,
                                           Clocks clocks)
    : key_(std::move(key)),
      certificate_(std::move(certificate)),
      host_key_(std::move(host_key)),
      certificate_pem_(std::move(pem)),
      clocks_(std::move(clocks)) {}

CertificateAuthority::~CertificateAuthority() = default;

Result<std::shared_ptr<CertificateAuthority>> CertificateAuthority::open(const std::string& directory,
                                                                         const std::string& instance, Clocks clocks) {
  const std::string path = directory + "/egress-authority.pem";
  const WallTime now = clocks.wall();
  auto found = read_authority(path, now);
  if (!found && found.error().code == ErrorCode::not_found) found = make_authority(path, instance, now);
  if (!found) return fail(std::move(found).error().at("egress authority"));
  CLOCHE_TRY(std::string pem, to_pem(*found->certificate));
  CLOCHE_TRY(Key host_key, make_key());
  return std::shared_ptr<CertificateAuthority>(new CertificateAuthority(
      std::move(found->key), std::move(found->certificate), std::move(host_key), std::move(pem), std::move(clocks)));
}

Result<SslContext> CertificateAuthority::context_for(const std::string& host) {
  const WallTime now = clocks_.wall();
  const auto found = made_.find(host);
  if (found != made_.end()) {
    uses_.splice(uses_.begin(), uses_, found->second.use);
    if (now + renewed_before < found->second.until) return found->second.context;
  }
  const Validity validity{now - already_valid, now + host_lifetime};
  CLOCHE_TRY(SslContext context, make_context(host, validity));
  if (found != made_.end()) {
    found->second.context = context;
    found->second.until = validity.until;
    return context;
  }
  if (made_.size() >= most_contexts) {
    made_.erase(uses_.back());
    uses_.pop_back();
  }
  uses_.push_front(host);
  made_.emplace(host, Made{context, validity.until, uses_.begin()});
  return context;
}

Result<SslContext> CertificateAuthority::make_context(const std::string& host, Validity validity) {
  const OpensslErrorsDropped dropped;
  CLOCHE_TRY(const Certificate certificate, make_host_certificate({*certificate_, *key_}, *host_key_, host, validity));
  SslContext context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (!context || SSL_CTX_use_certificate(context.get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), host_key_.get()) != 1) {
    return fail(ErrorCode::internal, "TLS for " + host + ": " + take_openssl_error());
  }
  http::set_server_rules(*context);
  SSL_CTX_set_num_tickets(context.get(), 1);  // a program that resumes needs one
  return context;
}

}  // namespace cloche::egress
