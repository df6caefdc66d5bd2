#include "auth/tokens/token.hpp"

#include <algorithm>

#include "core/ids.hpp"

namespace cloche::auth {

namespace {

constexpr std::size_t id_bytes = 8;
constexpr std::size_t secret_bytes = 32;

bool is_hex(std::string_view text, std::size_t bytes) {
  return text.size() == 2 * bytes &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string Token::text() const { return std::string(token_prefix) + id + '_' + secret; }

std::string Token::e2b_key() const { return std::string(e2b_key_prefix) + id + secret; }

Token make_token() { return {random_hex(id_bytes), random_hex(secret_bytes)}; }

std::optional<Token> parse_token(std::string_view text) {
  std::size_t separator = 0;
  if (text.starts_with(token_prefix)) {
    text.remove_prefix(token_prefix.size());
    separator = 1;
  } else if (text.starts_with(e2b_key_prefix)) {
    text.remove_prefix(e2b_key_prefix.size());
  } else {
    return std::nullopt;
  }
  if (text.size() != 2 * id_bytes + separator + 2 * secret_bytes) return std::nullopt;
  if (separator == 1 && text[2 * id_bytes] != '_') return std::nullopt;
  const std::string_view id = text.substr(0, 2 * id_bytes);
  const std::string_view secret = text.substr(2 * id_bytes + separator);
  if (!is_hex(id, id_bytes) || !is_hex(secret, secret_bytes)) return std::nullopt;
  return Token{std::string(id), std::string(secret)};
}

bool is_token_id(std::string_view text) { return is_hex(text, id_bytes); }

}  // namespace cloche::auth
