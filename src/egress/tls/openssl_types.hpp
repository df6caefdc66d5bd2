// Owners of OpenSSL's objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

namespace cloche::egress {

struct OpensslFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

using Bio = std::unique_ptr<BIO, OpensslFree>;
using Key = std::unique_ptr<EVP_PKEY, OpensslFree>;
using Certificate = std::unique_ptr<X509, OpensslFree>;
using Ssl = std::unique_ptr<SSL, OpensslFree>;
using SslContext = std::shared_ptr<SSL_CTX>;

}  // namespace cloche::egress
