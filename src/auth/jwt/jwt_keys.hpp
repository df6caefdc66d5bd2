// JwtKeys: the keys of one file, found by algorithm and key id.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/guarded_file.hpp"
#include "auth/jwt/jwt_key.hpp"

namespace cloche::auth {

enum class KeyForm {
  jwks,    // {"keys":[…]}: several keys, each with a key id
  pem,     // one public key, RSA or P-256
  secret,  // one line of printable ASCII, whose bytes are the HS256 secret
};

constexpr std::size_t most_keys = 64;
// Whether others may read it depends on what is in it, and is checked when that is known.
constexpr FileRule key_file_rule{
    .secrecy = Secrecy::only_intact, .links = Links::followed, .most_bytes = std::size_t{256} * 1024};

class JwtKeys {
 public:
  // Refuses a file with no key for us, with a weak or a private one, with two of the same id and algorithm, and one
  // with secrets that others than its owner can read.
  static Result<JwtKeys> parse(const GuardedFile& file, KeyForm form);

  // The only key that such a token may be signed with; nullptr if there is none, or if the token does not say which of
  // several. The only key of a PEM or secret file matches every key id.
  const JwtKey* find(JwtAlgorithm algorithm, const std::optional<std::string>& key_id) const;

 private:
  struct Entry {
    std::optional<std::string> key_id;
    JwtKey key;
  };

  static Result<JwtKeys> of_jwks(std::string_view text);
  static Result<JwtKeys> of_one(Result<JwtKey> key);

  std::vector<Entry> entries_;
  bool any_key_id_ = false;
};

}  // namespace cloche::auth
