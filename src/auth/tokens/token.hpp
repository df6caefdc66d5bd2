// Cloche's own tokens: `cloche_<id>_<secret>`, 16 and 64 hexadecimal digits. The id may be shown, the secret is 256
// random bits. Clients of E2B accept only keys that consist of `e2b_` and digits, so the same token has a second
// spelling: `e2b_<id><secret>`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche::auth {

// The prefix distinguishes such a token from a JWT and lets scanners for leaked secrets find it.
constexpr std::string_view token_prefix = "cloche_";
constexpr std::string_view e2b_key_prefix = "e2b_";

struct Token {
  std::string id;
  std::string secret;

  std::string text() const;
  std::string e2b_key() const;
};

Token make_token();
// Reads both spellings. Checks the form only.
std::optional<Token> parse_token(std::string_view text);
bool is_token_id(std::string_view text);

}  // namespace cloche::auth
