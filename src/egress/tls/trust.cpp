#include "egress/tls/trust.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "auth/guarded_file.hpp"
#include "crypto/openssl_errors.hpp"
#include "egress/tls/certificates.hpp"

namespace cloche::egress {

namespace {

constexpr std::array<std::string_view, 5> bundles{
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // the same, later
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // Alpine, without its package of bundles
};

constexpr std::array<const char*, 9> bundle_variables{"SSL_CERT_FILE",     "CURL_CA_BUNDLE",      "REQUESTS_CA_BUNDLE",
                                                      "PIP_CERT",          "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
                                                      "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE",       "DENO_CERT"};

constexpr auth::FileRule bundle_rule{
    .secrecy = auth::Secrecy::only_intact, .links = auth::Links::followed, .most_bytes = std::size_t{8} << 20};

constexpr std::array<unsigned char, 9> http_1_1{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

Result<std::string> read_bundle(const std::string& path) {
  CLOCHE_TRY(auth::GuardedFile file, auth::read_guarded(path, bundle_rule));
  if (!certificate_from_pem(file.content)) {
    return fail(ErrorCode::invalid_argument, path + " does not contain a certificate in PEM form");
  }
  if (!file.content.ends_with('\n')) file.content += '\n';
  return std::move(file.content);
}

}  // namespace

std::span<const std::string_view> usual_bundles() { return bundles; }

std::optional<std::string> find_system_bundle() {
  if (const char* named = std::getenv("SSL_CERT_FILE"); named != nullptr && *named != '\0') return named;
  for (const std::string_view path : bundles) {
    std::string found(path);
    if (::access(found.c_str(), R_OK) == 0) return found;
  }
  return std::nullopt;
}

Result<SslContext> make_unverifying_context() {
  const OpensslErrorsDropped dropped;
  SslContext context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (!context) return fail(ErrorCode::internal, "TLS: " + take_openssl_error());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_protos(context.get(), http_1_1.data(), http_1_1.size());
  return context;
}

Result<SslContext> make_client_context(const std::string& extra_ca) {
  CLOCHE_TRY(SslContext context, make_unverifying_context());
  const OpensslErrorsDropped dropped;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (const auto system = find_system_bundle()) {
    if (SSL_CTX_load_verify_file(context.get(), system->c_str()) != 1) {
      return fail(ErrorCode::invalid_argument, "trusted certificates " + *system + ": " + take_openssl_error());
    }
  } else {
    SSL_CTX_set_default_verify_paths(context.get());
  }
  if (!extra_ca.empty() && SSL_CTX_load_verify_file(context.get(), extra_ca.c_str()) != 1) {
    return fail(ErrorCode::invalid_argument, "trusted certificates " + extra_ca + ": " + take_openssl_error());
  }
  return context;
}

Result<std::string> make_trust_bundle(const std::string& extra_ca, std::string_view authority_pem) {
  const auto system = find_system_bundle();
  if (!system) {
    std::string places;
    for (const std::string_view path : bundles) places.append(places.empty() ? "" : ", ").append(path);
    return fail(ErrorCode::not_found,
                "this host has no bundle of trusted certificates; install ca-certificates (looked for " + places + ")");
  }
  CLOCHE_TRY(std::string bundle, read_bundle(*system));
  if (!extra_ca.empty()) {
    CLOCHE_TRY(const std::string extra, read_bundle(extra_ca));
    bundle += extra;
  }
  return bundle.append(authority_pem);
}

std::map<std::string, std::string> trust_variables(const std::string& path) {
  std::map<std::string, std::string> variables;
  for (const char* name : bundle_variables) variables.emplace(name, path);
  return variables;
}

}  // namespace cloche::egress
