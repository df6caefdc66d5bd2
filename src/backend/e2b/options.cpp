#include "backend/e2b/options.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "core/text.hpp"

namespace cloche {

namespace {

constexpr const char* authorities_of_system = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* usual_domain = "e2b.app";
constexpr const char* usual_template = "base";

std::string given_or_variable(const std::string& given, const char* name, const char* otherwise = "") {
  if (!given.empty()) return given;
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

Result<bool> flag(const std::optional<bool>& given, const char* name, bool otherwise) {
  if (given) return *given;
  const std::string text = given_or_variable("", name);
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return same_word(text, word); });
  };
  if (text.empty()) return otherwise;
  if (is_one_of({"true", "1", "yes", "on"})) return true;
  if (is_one_of({"false", "0", "no", "off"})) return false;
  return fail(ErrorCode::invalid_argument,
              "environment variable " + std::string(name) + " must be true or false, not '" + text + "'");
}

// What may be in a line of a request's head.
bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

Result<E2bSettings> e2b_settings(const E2bOptions& options) {
  E2bSettings settings;
  settings.api_key = given_or_variable(options.api_key, "E2B_API_KEY");
  settings.domain = given_or_variable(options.domain, "E2B_DOMAIN", usual_domain);
  settings.template_name = given_or_variable(options.template_name, "E2B_TEMPLATE", usual_template);
  CLOCHE_TRY(settings.allow_internet_access, flag(options.allow_internet_access, "E2B_ALLOW_INTERNET_ACCESS", false));
  CLOCHE_TRY(settings.secure_access, flag(options.secure_access, "E2B_SECURE_ACCESS", true));
  settings.api_url = given_or_variable(options.api_url, "E2B_API_URL");
  settings.sandbox_url = given_or_variable(options.sandbox_url, "E2B_SANDBOX_URL");
  settings.certificates = given_or_variable("", "SSL_CERT_FILE", authorities_of_system);
  return settings;
}

namespace e2b {

Status validate(const E2bSettings& settings) {
  const auto is_id = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  const std::string& id = settings.instance.value;
  if (id.empty() || id.size() > 64 || !std::ranges::all_of(id, is_id)) {
    return fail(ErrorCode::invalid_argument, "an instance id must be letters, digits, '-', '_' and '.': '" + id + "'");
  }
  if (settings.api_key.size() > 512 || !is_printable(settings.api_key))
    return fail(ErrorCode::invalid_argument, "the API key of E2B contains characters that no key has");
  if (!http::is_domain(settings.domain)) {
    return fail(ErrorCode::invalid_argument, "invalid domain of E2B '" + settings.domain + "': expected a host name");
  }
  CLOCHE_CHECK(control_address(settings));
  CLOCHE_CHECK(sandbox_address(settings, "i", ""));
  return {};
}

Result<Address> control_address(const E2bSettings& settings) {
  return http::parse_address(settings.api_url.empty() ? "https://api." + settings.domain : settings.api_url,
                             settings.certificates);
}

Result<Address> sandbox_address(const E2bSettings& settings, const std::string& sandbox, const std::string& domain) {
  if (!settings.sandbox_url.empty()) return http::parse_address(settings.sandbox_url, settings.certificates);
  return http::parse_address(
      "https://" + std::to_string(envd_port) + "-" + sandbox + "." + (domain.empty() ? settings.domain : domain),
      settings.certificates);
}

}  // namespace e2b
}  // namespace cloche
