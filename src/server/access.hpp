// Access: who may come in, as configuration and first start decide it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "auth/authenticator.hpp"
#include "auth/tokens/token_file.hpp"
#include "config/config.hpp"
#include "http/server/server.hpp"

namespace cloche::server {

// Where Cloche's own tokens are, or would be.
std::string token_file_of(const config::Config& config);
// Makes the directory of that file if it is the state directory; another one must be there.
Status prepare_token_dir(const config::Config& config);

struct Access {
  auth::AuthOptions options;
  // The admin token that was just created: it must be shown to the operator now, because it cannot be shown again.
  std::optional<auth::NewToken> first_token;
};

// Tokens are required if they are configured, if their file exists, or if the service is reachable from other machines
// and no JWT keys are configured; then the file is created, with a first token, if it does not exist. Otherwise no
// token is required, and Service::create refuses to listen beyond this machine. Reads and writes files.
Result<Access> open_access(const config::Config& config, const std::vector<http::ListenOn>& listen);

}  // namespace cloche::server
