#include "egress/testing/hello.hpp"

#include <openssl/ssl.h>

#include <memory>

namespace cloche::egress::testing {

std::string client_hello(const std::string& server_name) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> client(SSL_new(context.get()), &SSL_free);
  BIO* sent = BIO_new(BIO_s_mem());
  SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), sent);
  if (!server_name.empty()) SSL_set_tlsext_host_name(client.get(), server_name.c_str());
  SSL_connect(client.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(sent, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace cloche::egress::testing
