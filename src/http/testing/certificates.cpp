#include "http/testing/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace cloche::http::testing {

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

struct Identity {
  Key key;
  Certificate certificate;
};

void add_extension(X509* certificate, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  if (!extension) throw std::runtime_error("certificate extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `issuer`, or by itself.
Identity make_identity(const char* name, long serial, const char* purpose, const char* alternative_names,
                       const Identity* issuer) {
  Identity made{Key(EVP_EC_gen("P-256"), &EVP_PKEY_free), Certificate(X509_new(), &X509_free)};
  X509* certificate = made.certificate.get();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  const Identity& signer = issuer ? *issuer : made;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer.certificate.get()));
  if (!issuer) add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  if (purpose) add_extension(certificate, NID_ext_key_usage, purpose);
  if (alternative_names) add_extension(certificate, NID_subject_alt_name, alternative_names);
  if (!X509_sign(certificate, signer.key.get(), EVP_sha256())) throw std::runtime_error("sign certificate");
  return made;
}

File open(const std::string& path) {
  File file(std::fopen(path.c_str(), "w"), &std::fclose);
  if (!file) throw std::runtime_error("open " + path);
  return file;
}

void save(const Identity& identity, const std::string& certificate, const std::string& key) {
  PEM_write_X509(open(certificate).get(), identity.certificate.get());
  PEM_write_PrivateKey(open(key).get(), identity.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

}  // namespace

void make_certificates(const std::string& directory) {
  const Identity authority = make_identity("test authority", 1, nullptr, nullptr, nullptr);
  const Identity server = make_identity("test server", 2, "serverAuth", "IP:127.0.0.1,DNS:localhost", &authority);
  const Identity client = make_identity("test client", 3, "clientAuth", nullptr, &authority);
  save(authority, directory + "/ca.pem", directory + "/ca-key.pem");
  save(server, directory + "/server-cert.pem", directory + "/server-key.pem");
  save(client, directory + "/cert.pem", directory + "/key.pem");
}

TlsFiles client_files(const std::string& directory) {
  return TlsFiles{directory + "/ca.pem", directory + "/cert.pem", directory + "/key.pem"};
}

}  // namespace cloche::http::testing
