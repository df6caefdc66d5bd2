#include "egress/secrets/put_secret.hpp"

#include <algorithm>
#include <array>

#include "core/base64.hpp"
#include "core/percent_encoding.hpp"
#include "http/server/request/target.hpp"

namespace cloche::egress {

namespace {

constexpr std::string_view secret_mark = "{secret}";

// They say where a message ends, whom it is for, or what the connection does.
constexpr std::array<std::string_view, 12> reserved_headers{
    "Connection", "Content-Length",    "Expect", "Host",           "Keep-Alive", "Proxy-Connection", "TE", "Trailer",
    "Upgrade",    "Transfer-Encoding", "Range",  "Accept-Encoding"};

// Servers that hand headers on as variables cannot tell the two apart.
bool is_same_header(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '_' ? '-' : lower(c); };
  return std::ranges::equal(a, b, {}, plain, plain);
}

void remove_headers(http::Fields& fields, std::string_view name) {
  std::erase_if(fields, [&](const auto& field) { return is_same_header(field.first, name); });
}

std::string filled_in(std::string_view pattern, std::string_view secret) {
  std::string text;
  for (auto at = pattern.find(secret_mark); at != std::string_view::npos; at = pattern.find(secret_mark)) {
    text.append(pattern.substr(0, at)).append(secret);
    pattern.remove_prefix(at + secret_mark.size());
  }
  return text.append(pattern);
}

std::unexpected<Error> misplaced(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

Status put_in_header(RequestParts& request, const std::string& name, std::string value) {
  if (!http::is_field_value(value)) return misplaced("the secret has characters that a header cannot contain");
  remove_headers(request.fields, name);
  request.fields.emplace_back(name, std::move(value));
  return {};
}

// Whether a server could take this part of a query for the parameter.
Result<bool> is_parameter(std::string_view part, std::string_view name) {
  const auto parsed = http::parse_query(part);
  if (!parsed) return fail(ErrorCode::protocol, "the query of the request cannot be decoded");
  return parsed->count(name) > 0;
}

Status put_in_query(RequestParts& request, const std::string& name, std::string_view secret) {
  std::string kept;
  std::string_view rest = request.query;
  while (!rest.empty()) {
    // Some servers separate by semicolons, too.
    const auto end = std::min(rest.find_first_of("&;"), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::string_view separator = rest.substr(end, 1);
    rest.remove_prefix(end + separator.size());
    CLOCHE_TRY(const bool is_ours, is_parameter(part, name));
    if (!is_ours) kept.append(part).append(separator);
  }
  if (!kept.empty() && !kept.ends_with('&')) kept += '&';
  request.query = kept + percent_encoded(name) + "=" + percent_encoded(secret);
  return {};
}

}  // namespace

Status check_secret_use(const SecretUse& use) {
  if (use.name.empty()) return misplaced("a secret needs the name of a header, a query parameter or a user");
  switch (use.where) {
    case SecretUse::Where::header:
      if (!http::is_token(use.name)) return misplaced("invalid header name '" + use.name + "'");
      if (std::ranges::any_of(reserved_headers, [&](auto name) { return is_same_header(name, use.name); })) {
        return misplaced("a secret cannot be in the header " + use.name);
      }
      if (use.value_template.find(secret_mark) == std::string::npos) {
        return misplaced("the value of the header " + use.name + " does not contain {secret}");
      }
      if (!http::is_field_value(use.value_template)) return misplaced("invalid value of the header " + use.name);
      return {};
    case SecretUse::Where::basic_auth:
      if (use.name.find(':') != std::string::npos) return misplaced("the user of basic auth cannot contain a colon");
      return {};
    case SecretUse::Where::query: return {};
  }
  return {};
}

Status put_secret_on(RequestParts& request, const SecretUse& use, std::string_view secret) {
  CLOCHE_CHECK(check_secret_use(use));
  switch (use.where) {
    case SecretUse::Where::header: return put_in_header(request, use.name, filled_in(use.value_template, secret));
    case SecretUse::Where::basic_auth:
      return put_in_header(request, "Authorization", "Basic " + encode_base64(use.name + ":" + std::string(secret)));
    case SecretUse::Where::query: return put_in_query(request, use.name, secret);
  }
  return {};
}

}  // namespace cloche::egress
