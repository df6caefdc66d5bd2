// Authenticator: from the Authorization header of a request to its principal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "auth/auth_error.hpp"
#include "auth/jwt/jwt_verifier.hpp"
#include "auth/principal.hpp"
#include "auth/tokens/token_table.hpp"
#include "auth/watched_file.hpp"
#include "core/clock.hpp"

namespace cloche::auth {

struct AuthOptions {
  std::optional<std::string> token_file;  // of Cloche's own tokens
  std::optional<JwtOptions> jwt;
};

// Where the other end of a connection is. Local: a unix socket, or a loopback address at both ends.
enum class PeerPlace { local, remote };

// Used by one thread. Files are checked at most once per second and read in the calling thread.
class Authenticator {
 public:
  // Reads all files once: what cannot be read at the start is an error here.
  static Result<Authenticator> open(AuthOptions options, Clocks clocks = {});

  // Whether any kind of token is configured. Without, a server must listen on loopback and unix sockets alone.
  bool needs_token() const { return tokens_.has_value() || jwt_.has_value(); }

  // `authorization` is the header's value; nullopt when the request has none. A request with several such headers must
  // be refused before.
  //
  // If no kind of token is configured, a local caller is the admin of `default`, whatever its header says: clients that
  // were written for a service with tokens send one. Only a Cloche token is rejected then: it was created for one
  // tenant, and its holder must not become an admin because an operator forgot the token file.
  Authenticated<Principal> authenticate(std::optional<std::string_view> authorization, PeerPlace peer);

  // The principal of a Cloche token, by the token's id. It is for credentials that were issued to the holder of that
  // token: they end with it.
  Authenticated<Principal> principal_of(const std::string& token_id);

 private:
  Authenticator(AuthOptions options, Clocks clocks);
  Authenticated<Principal> check_token(std::string_view text);

  Clocks clocks_;
  std::optional<WatchedFile<TokenTable>> tokens_;
  std::optional<JwtVerifier> jwt_;
};

// The token in `Bearer TOKEN`; nullopt when the header says anything else.
std::optional<std::string_view> bearer_token(std::string_view authorization);

}  // namespace cloche::auth
