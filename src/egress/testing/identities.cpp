#include "egress/testing/identities.hpp"

#include <stdexcept>

#include "http/server/tls_rules.hpp"

namespace cloche::egress::testing {

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

Validity validity_of(ValidDays valid) {
  const WallTime now = Clocks().wall();
  return {now + std::chrono::days(valid.from), now + std::chrono::days(valid.until)};
}

SslContext server_with(const Certificate& certificate, const Key& key) {
  SslContext context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  SSL_CTX_use_certificate(context.get(), certificate.get());
  SSL_CTX_use_PrivateKey(context.get(), key.get());
  http::set_server_rules(*context);
  return context;
}

}  // namespace

TestAuthority::TestAuthority()
    : key_(must(make_key())),
      certificate_(must(make_authority_certificate(*key_, "authority of a test", validity_of({})))),
      pem_(must(to_pem(*certificate_))) {}

SslContext TestAuthority::server(const std::string& host, ValidDays valid) const {
  const Key key = must(make_key());
  return server_with(must(make_host_certificate({*certificate_, *key_}, *key, host, validity_of(valid))), key);
}

SslContext TestAuthority::client() const {
  SslContext context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), certificate_.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

SslContext TestAuthority::self_signed_server(const std::string& host) {
  const Key key = must(make_key());
  const Certificate own = must(make_authority_certificate(*key, host, validity_of({})));
  return server_with(must(make_host_certificate({*own, *key}, *key, host, validity_of({}))), key);
}

SslContext only(SslContext context, int version) {
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  return context;
}

}  // namespace cloche::egress::testing
