// TokenTable: the tokens of a file, by id, to be checked against.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "auth/auth_error.hpp"
#include "auth/tokens/token.hpp"
#include "auth/tokens/token_records.hpp"

namespace cloche::auth {

class TokenTable {
 public:
  explicit TokenTable(std::vector<TokenRecord> records);

  // `unknown` for an unknown id and for a wrong secret, after the same work; `expired` only if the secret is right.
  Authenticated<Principal> check(const Token& token, WallTime now) const;
  // Of a token that was checked before, by its id: `unknown` if it was revoked, `expired`.
  Authenticated<Principal> principal_of(const std::string& id, WallTime now) const;

 private:
  std::unordered_map<std::string, TokenRecord> by_id_;
};

}  // namespace cloche::auth
