#include "dialect/e2b/data/credentials.hpp"

#include <algorithm>

#include "auth/authenticator.hpp"
#include "auth/tokens/token.hpp"
#include "core/base64.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::string_view basic = "basic ";
constexpr std::size_t longest_user = 64;

bool is_our_token(std::string_view name, std::string_view value) {
  if (same_word(name, "X-Access-Token") || same_word(name, "E2b-Traffic-Access-Token")) return true;
  if (same_word(name, "X-API-Key")) return auth::parse_token(value).has_value();
  if (!same_word(name, "Authorization")) return false;
  const auto token = auth::bearer_token(value);
  return token && auth::parse_token(*token);
}

}  // namespace

std::optional<std::string> basic_user(const http::Fields& fields) {
  const std::string_view value = http::field_value(fields, "Authorization");
  // Another scheme is not E2B's, and says nothing.
  if (value.size() < basic.size() || !same_word(value.substr(0, basic.size()), basic)) return std::string();
  const auto decoded = decode_base64(http::without_blanks_around(value.substr(basic.size())));
  if (!decoded) return std::nullopt;
  const auto colon = decoded->find(':');
  if (colon == std::string::npos || colon > longest_user) return std::nullopt;
  std::string user = decoded->substr(0, colon);
  const bool is_plain = std::ranges::all_of(user, [](char c) { return c > ' ' && c < '\x7f'; });
  return is_plain ? std::optional(std::move(user)) : std::nullopt;
}

http::Fields without_our_tokens(const http::Fields& fields) {
  http::Fields kept;
  for (const auto& [name, value] : fields) {
    if (!is_our_token(name, value)) kept.emplace_back(name, value);
  }
  return kept;
}

}  // namespace cloche::dialect::e2b
