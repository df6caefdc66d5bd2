// TokenFile: makes, lists and revokes Cloche's own tokens. Used by `cloche token` and at the first start of a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/guarded_file.hpp"
#include "auth/tokens/token.hpp"
#include "auth/tokens/token_records.hpp"
#include "core/clock.hpp"

namespace cloche::auth {

constexpr FileRule token_file_rule{
    .secrecy = Secrecy::secret, .links = Links::refused, .most_bytes = std::size_t{8} * 1024 * 1024};

struct TokenRequest {
  std::string tenant;
  Role role = Role::user;
  std::optional<WallTime> expires;
  std::string note;
};

struct NewToken {
  TokenRecord record;
  std::string text;  // the token itself, which cannot be shown again
};

// Each change reads, changes and replaces the file under a lock, so that processes that change it at once lose nothing.
// It blocks: for the lock up to ten seconds, and for the disk.
class TokenFile {
 public:
  explicit TokenFile(std::string path, Clocks clocks = {});

  const std::string& path() const { return path_; }

  // Creates the file if necessary; its directory must exist. `invalid_argument` for an invalid tenant or note, or an
  // expiry that is not in the future; `limit_reached` if there are `most_tokens`.
  Result<NewToken> create(const TokenRequest& request);
  // The same if there is no file yet; nullopt if there is one, even without tokens: revoking every token is
  // intentional.
  Result<std::optional<NewToken>> create_first(const TokenRequest& request);
  // `not_found` if the file does not exist.
  Result<std::vector<TokenRecord>> list() const;
  // By id; returns the removed record. `not_found` if there is none.
  Result<TokenRecord> revoke(std::string_view id);

 private:
  Result<std::vector<TokenRecord>> read() const;
  Status check(const TokenRequest& request) const;
  Result<NewToken> add(std::vector<TokenRecord> records, const TokenRequest& request) const;

  std::string path_;
  Clocks clocks_;
};

}  // namespace cloche::auth
