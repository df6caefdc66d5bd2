// TokenFile: makes, lists and revokes Cloche's own tokens. Used by `cloche token` and at the first start of a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/clock.hpp"
#include "auth/guarded_file.hpp"
#include "auth/token.hpp"
#include "auth/token_records.hpp"

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
  std::string text;  // the token itself; nobody can show it again
};

// Each change reads, changes and replaces the file under a lock, so that processes that change it at once lose nothing.
// It blocks: for the lock up to ten seconds, and for the disk.
class TokenFile {
 public:
  explicit TokenFile(std::string path, Clocks clocks = {});

  const std::string& path() const { return path_; }

  // Makes the file where there is none; its directory must be there. `invalid_argument` for a bad tenant or note or an
  // expiry that is not to come, `limit_reached` when there are `most_tokens`.
  Result<NewToken> create(const TokenRequest& request);
  // The same if there is no file yet; nullopt when there is one, whatever it says: who revoked every token meant it.
  Result<std::optional<NewToken>> create_first(const TokenRequest& request);
  // `not_found` when there is no file.
  Result<std::vector<TokenRecord>> list() const;
  // By id; the record that is gone. `not_found` when there is none.
  Result<TokenRecord> revoke(std::string_view id);

 private:
  Result<std::vector<TokenRecord>> read() const;
  Status check(const TokenRequest& request) const;
  Result<NewToken> add(std::vector<TokenRecord> records, const TokenRequest& request) const;

  std::string path_;
  Clocks clocks_;
};

}  // namespace cloche::auth
