// The content of the token file, and how it is written. No I/O.
//
//   {"version":1,"tokens":[
//   {"id":"…","sha256":"…","tenant":"acme","role":"user","created":"2031-05-17T09:30:00Z","expires":"…","note":"ci"}
//   ]}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/principal.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "crypto/hmac.hpp"

namespace cloche::auth {

constexpr std::size_t most_tokens = 10'000;
constexpr std::size_t longest_note = 200;  // bytes

struct TokenRecord {
  std::string id;
  Digest sha256 = {};  // of the secret's 64 digits
  std::string tenant;
  Role role = Role::user;
  WallTime created;
  std::optional<WallTime> expires;
  std::string note;

  bool operator==(const TokenRecord&) const = default;
};

// The whole text or nothing: an error says which token and which member is wrong, and nothing of the file is used.
Result<std::vector<TokenRecord>> parse_token_records(std::string_view text);
std::string write_token_records(const std::vector<TokenRecord>& records);

// UTF-8 of one line, at most `longest_note` bytes.
Status check_note(std::string_view note);

}  // namespace cloche::auth
