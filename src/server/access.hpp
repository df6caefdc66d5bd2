// Access: who may come in, as configuration and first start decide it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "auth/authenticator.hpp"
#include "auth/token_file.hpp"
#include "config/config.hpp"
#include "http/server/server.hpp"

namespace cloche::server {

// Where Cloche's own tokens are, or would be.
std::string token_file_of(const config::Config& config);
// Makes the directory of that file if it is the state directory; another one must be there.
Status prepare_token_dir(const config::Config& config);

struct Access {
  auth::AuthOptions options;
  // Made just now, an admin's: whoever started the service has to be shown it, since nobody can show it again.
  std::optional<auth::NewToken> first_token;
};

// Tokens are asked for when they are configured, when their file is there, or when others than this machine can call
// and no JWT keys are configured; then the file is made, with a first token, if it is not there. Otherwise no token is
// needed, and Service::create refuses to listen beyond this machine. Reads and writes files.
Result<Access> open_access(const config::Config& config, const std::vector<http::ListenOn>& listen);

}  // namespace cloche::server
