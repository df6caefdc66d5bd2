#include "http/server/tls_context.hpp"

#include "http/server/tls_rules.hpp"

namespace cloche::http {

namespace {

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* length, const unsigned char* offered,
                    unsigned int offered_length, void*) {
  static constexpr unsigned char ours[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(&found, length, ours, sizeof ours, offered, offered_length);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

void set_server_rules(SSL_CTX& context) {
  SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  SSL_CTX_set_options(&context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A connection without requests costs no buffers.
  SSL_CTX_set_mode(&context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(&context, &choose_protocol, nullptr);
}

Result<std::shared_ptr<asio::ssl::context>> make_tls_context(const ServerCertificate& certificate) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  set_server_rules(*native);
  boost::system::error_code code;
  const auto failed = [&](const std::string& what) {
    return fail(ErrorCode::invalid_argument, "TLS: " + what + ": " + code.message());
  };
  context->use_certificate_chain_file(certificate.chain, code);
  if (code) return failed("certificate " + certificate.chain);
  context->use_private_key_file(certificate.key, asio::ssl::context::pem, code);
  if (code) return failed("key " + certificate.key);
  if (SSL_CTX_check_private_key(native) != 1) {
    return fail(ErrorCode::invalid_argument, "TLS: key " + certificate.key + " does not match " + certificate.chain);
  }
  return context;
}

}  // namespace cloche::http
