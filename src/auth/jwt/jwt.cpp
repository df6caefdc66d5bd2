#include "auth/jwt/jwt.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "core/base64.hpp"
#include "core/text.hpp"
#include "json/members.hpp"
#include "json/strict_json.hpp"

namespace cloche::auth {

namespace {

namespace json = boost::json;

constexpr std::size_t deepest_header = 8;

std::unexpected<Error> bad(std::string_view what) {
  return fail(ErrorCode::invalid_argument, "JWT: " + std::string(what));
}

// A token of another type signed with the same keys (a logout token, a proof of possession) must not grant access.
bool is_jwt_type(std::string_view type) {
  const std::string lowered = lower(type);
  std::string_view name = lowered;
  if (name.starts_with("application/")) name.remove_prefix(std::string_view("application/").size());
  return name == "jwt" || name == "at+jwt";
}

Status read_header(const json::object& header, Jwt& jwt) {
  // We understand no extension, so every critical one is too much; `b64` changes what is signed.
  if (header.contains("crit")) return bad("critical extensions (`crit`) are not supported");
  if (header.contains("b64")) return bad("unencoded payloads (`b64`) are not supported");
  const auto algorithm = text_member(header, "alg");
  if (!algorithm) return bad("`alg` is missing");
  const auto known = parse_algorithm(*algorithm);
  if (!known) return bad("`alg` must be HS256, RS256 or ES256");
  jwt.algorithm = *known;
  if (header.contains("typ")) {
    const auto type = text_member(header, "typ");
    if (!type || !is_jwt_type(*type)) return bad("`typ` is not JWT");
  }
  if (header.contains("kid")) {
    const auto key_id = text_member(header, "kid");
    if (!key_id || key_id->size() > longest_key_id) return bad("`kid` is not a string or is too long");
    jwt.key_id = std::string(*key_id);
  }
  return {};
}

}  // namespace

std::string_view to_string(JwtAlgorithm algorithm) {
  switch (algorithm) {
    case JwtAlgorithm::hs256: return "HS256";
    case JwtAlgorithm::rs256: return "RS256";
    case JwtAlgorithm::es256: return "ES256";
  }
  return "";
}

std::optional<JwtAlgorithm> parse_algorithm(std::string_view name) {
  for (const auto algorithm : {JwtAlgorithm::hs256, JwtAlgorithm::rs256, JwtAlgorithm::es256}) {
    if (name == to_string(algorithm)) return algorithm;
  }
  return std::nullopt;
}

Result<Jwt> parse_jwt(std::string_view text) {
  if (text.size() > longest_jwt) return bad("it is longer than " + std::to_string(longest_jwt) + " bytes");
  if (std::ranges::count(text, '.') != 2) return bad("it does not have three parts");
  const auto first = text.find('.');
  const auto second = text.find('.', first + 1);
  const auto header = decode_base64url(text.substr(0, first));
  auto claims = decode_base64url(text.substr(first + 1, second - first - 1));
  auto signature = decode_base64url(text.substr(second + 1));
  if (!header || !claims || !signature) return bad("a part is not base64url");
  if (header->empty() || claims->empty() || signature->empty()) return bad("a part is empty");
  auto fields = parse_strict_object(*header, deepest_header);
  if (!fields) return fail(std::move(fields).error().at("JWT: header"));
  Jwt jwt{.algorithm = {},
          .key_id = {},
          .claims = *std::move(claims),
          .signed_part = std::string(text.substr(0, second)),
          .signature = *std::move(signature)};
  CLOCHE_CHECK(read_header(*fields, jwt));
  return jwt;
}

}  // namespace cloche::auth
