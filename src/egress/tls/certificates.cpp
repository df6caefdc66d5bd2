#include "egress/tls/certificates.hpp"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>

#include "core/file_error.hpp"
#include "crypto/openssl_errors.hpp"
#include "egress/policy/address.hpp"
#include "egress/policy/host_name.hpp"

namespace cloche::egress {

namespace {

constexpr std::size_t longest_common_name = 64;

std::unexpected<Error> certificate_error(std::string_view step) {
  return fail(ErrorCode::internal, std::string(step) + ": " + take_openssl_error());
}

bool set_random_serial(X509& certificate) {
  std::array<unsigned char, 16> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, and always as long
  BIGNUM* number = BN_bin2bn(bytes.data(), bytes.size(), nullptr);
  const bool set = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(&certificate)) != nullptr;
  BN_free(number);
  return set;
}

bool set_times(X509& certificate, Validity validity) {
  const auto seconds = [](WallTime time) { return static_cast<std::time_t>(time.time_since_epoch().count()); };
  return ASN1_TIME_set(X509_getm_notBefore(&certificate), seconds(validity.from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(&certificate), seconds(validity.until)) != nullptr;
}

bool set_common_name(X509& certificate, const std::string& name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()), static_cast<int>(name.size()),
                                    -1, 0) == 1;
}

bool add_extension(X509& certificate, X509& issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(&certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// Nothing that OpenSSL could read as more than one name.
bool is_host(const std::string& host) { return Address::parse(host) || normalize_host(host) == host; }

std::string alternative_name(const std::string& host) { return (Address::parse(host) ? "IP:" : "DNS:") + host; }

Result<std::string> text_of_bio(BIO& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(&bio, &data);
  if (size <= 0) return certificate_error("write PEM");
  return std::string(data, static_cast<std::size_t>(size));
}

Bio bio_over(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// OpenSSL's own would ask at the terminal.
int no_passphrase_here(char*, int, int, void*) { return -1; }

}  // namespace

Result<Key> make_key() {
  Key key(EVP_EC_gen("P-256"));
  if (!key) return certificate_error("make a key");
  return key;
}

Result<Certificate> make_authority_certificate(EVP_PKEY& key, const std::string& name, Validity validity) {
  Certificate made(X509_new());
  const bool complete =
      made && X509_set_version(made.get(), X509_VERSION_3) == 1 && set_random_serial(*made) &&
      set_times(*made, validity) && set_common_name(*made, name) && X509_set_pubkey(made.get(), &key) == 1 &&
      X509_set_issuer_name(made.get(), X509_get_subject_name(made.get())) == 1 &&
      add_extension(*made, *made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(*made, *made, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(*made, *made, NID_subject_key_identifier, "hash") && X509_sign(made.get(), &key, EVP_sha256()) != 0;
  if (!complete) return certificate_error("make the authority's certificate");
  return made;
}

Result<Certificate> make_host_certificate(const Issuer& issuer, EVP_PKEY& key, const std::string& host,
                                          Validity validity) {
  if (!is_host(host)) return fail(ErrorCode::invalid_argument, "'" + shown(host) + "' is not the name of a host");
  Certificate made(X509_new());
  // A name that is too long for the subject is in the alternative name alone, which is then critical.
  const bool has_subject = host.size() <= longest_common_name;
  const bool complete = made && X509_set_version(made.get(), X509_VERSION_3) == 1 && set_random_serial(*made) &&
                        set_times(*made, validity) && (!has_subject || set_common_name(*made, host)) &&
                        X509_set_pubkey(made.get(), &key) == 1 &&
                        X509_set_issuer_name(made.get(), X509_get_subject_name(&issuer.certificate)) == 1 &&
                        add_extension(*made, issuer.certificate, NID_basic_constraints, "critical,CA:FALSE") &&
                        add_extension(*made, issuer.certificate, NID_key_usage, "critical,digitalSignature") &&
                        add_extension(*made, issuer.certificate, NID_ext_key_usage, "serverAuth") &&
                        add_extension(*made, issuer.certificate, NID_subject_key_identifier, "hash") &&
                        add_extension(*made, issuer.certificate, NID_authority_key_identifier, "keyid:always") &&
                        add_extension(*made, issuer.certificate, NID_subject_alt_name,
                                      (has_subject ? "" : "critical,") + alternative_name(host)) &&
                        X509_sign(made.get(), &issuer.key, EVP_sha256()) != 0;
  if (!complete) return certificate_error("make a certificate for " + host);
  return made;
}

Result<std::string> to_pem(X509& certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), &certificate) != 1) return certificate_error("write a certificate");
  return text_of_bio(*bio);
}

Result<std::string> to_pem(EVP_PKEY& key) {
  const Bio bio(BIO_new(BIO_s_secmem()));
  if (!bio || PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return certificate_error("write a key");
  }
  return text_of_bio(*bio);
}

Result<Certificate> certificate_from_pem(std::string_view text) {
  const OpensslErrorsDropped dropped;
  const Bio bio = bio_over(text);
  Certificate read(bio ? PEM_read_bio_X509(bio.get(), nullptr, &no_passphrase_here, nullptr) : nullptr);
  if (!read) return fail(ErrorCode::protocol, "there is no certificate that can be read");
  return read;
}

Result<Key> key_from_pem(std::string_view text) {
  const OpensslErrorsDropped dropped;
  const Bio bio = bio_over(text);
  Key read(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_passphrase_here, nullptr) : nullptr);
  if (!read) return fail(ErrorCode::protocol, "there is no private key that can be read");
  return read;
}

}  // namespace cloche::egress
