#include "auth/jwt/jwt_keys.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "auth/jwt/jwk.hpp"
#include "json/members.hpp"
#include "json/strict_json.hpp"

namespace cloche::auth {

namespace {

namespace json = boost::json;

constexpr std::size_t deepest_jwks = 8;

std::unexpected<Error> bad(std::string_view what) { return fail(ErrorCode::invalid_argument, std::string(what)); }

// Text alone: whether a last line break belongs to a binary secret could only be guessed.
Result<std::string> secret_of(std::string_view content) {
  if (content.ends_with('\n')) content.remove_suffix(1);
  if (content.ends_with('\r')) content.remove_suffix(1);
  if (!std::ranges::all_of(content, [](char c) { return c > 0x20 && c < 0x7f; })) {
    return bad("a secret file must contain one line of printable ASCII without spaces; use a JWKS for a binary secret");
  }
  return std::string(content);
}

Result<std::optional<std::string>> key_id_of(const json::object& jwk) {
  if (!jwk.contains("kid")) return std::optional<std::string>{};
  const auto key_id = text_member(jwk, "kid");
  if (!key_id || key_id->size() > longest_key_id) return bad("`kid` is not a string or is too long");
  return std::optional<std::string>(*key_id);
}

}  // namespace

Result<JwtKeys> JwtKeys::of_one(Result<JwtKey> key) {
  if (!key) return fail(std::move(key).error());
  JwtKeys keys;
  keys.entries_.push_back({{}, *std::move(key)});
  keys.any_key_id_ = true;
  return keys;
}

Result<JwtKeys> JwtKeys::of_jwks(std::string_view text) {
  CLOCHE_TRY(const json::object set, parse_strict_object(text, deepest_jwks));
  const json::array* list = array_member(set, "keys");
  if (!list) return bad("`keys` is missing or is not an array");
  if (list->size() > most_keys) return bad("more than " + std::to_string(most_keys) + " keys");
  JwtKeys keys;
  std::size_t number = 0;
  for (const json::value& element : *list) {
    const std::string step = "key " + std::to_string(++number);
    if (!element.is_object()) return fail(Error{ErrorCode::invalid_argument, "not an object"}.at(step));
    auto key = parse_jwk(element.get_object());
    if (!key) return fail(std::move(key).error().at(step));
    if (!*key) continue;
    auto key_id = key_id_of(element.get_object());
    if (!key_id) return fail(std::move(key_id).error().at(step));
    const bool taken = std::ranges::any_of(keys.entries_, [&](const Entry& entry) {
      return entry.key_id && entry.key_id == *key_id && entry.key.algorithm() == (*key)->algorithm();
    });
    if (taken) return fail(Error{ErrorCode::invalid_argument, "its key id is already used by another key"}.at(step));
    keys.entries_.push_back({*std::move(key_id), **std::move(key)});
  }
  if (keys.entries_.empty()) return bad("no key for HS256, RS256 or ES256");
  return keys;
}

Result<JwtKeys> JwtKeys::parse(const GuardedFile& file, KeyForm form) {
  Result<JwtKeys> keys = fail(ErrorCode::internal, "unknown key form");
  switch (form) {
    case KeyForm::jwks: keys = of_jwks(file.content); break;
    case KeyForm::pem: keys = of_one(JwtKey::from_pem(file.content)); break;
    case KeyForm::secret: {
      CLOCHE_TRY(std::string secret, secret_of(file.content));
      keys = of_one(JwtKey::from_secret(std::move(secret)));
      break;
    }
  }
  if (!keys) return keys;
  const bool secret =
      std::ranges::any_of(keys->entries_, [](const Entry& e) { return e.key.algorithm() == JwtAlgorithm::hs256; });
  if (secret && file.others_can_read()) {
    return fail(ErrorCode::permission_denied,
                "it contains a secret and is readable by users other than its owner: run chmod 600 on it");
  }
  return keys;
}

const JwtKey* JwtKeys::find(JwtAlgorithm algorithm, const std::optional<std::string>& key_id) const {
  const JwtKey* found = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.key.algorithm() != algorithm) continue;
    if (key_id && !any_key_id_ && entry.key_id != key_id) continue;
    // Keys are not tried one after the other: a token costs one verification.
    if (found) return nullptr;
    found = &entry.key;
  }
  return found;
}

}  // namespace cloche::auth
