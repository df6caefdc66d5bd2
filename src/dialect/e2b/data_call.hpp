// DataCall: a request to a sandbox's own services (envd, the code interpreter, a port), after routing and
// authorization.
#pragma once

#include <string>

#include "auth/quotas.hpp"
#include "http/server/exchange.hpp"
#include "session/session.hpp"

namespace cloche::dialect::e2b {

struct DataCall {
  http::Exchange& exchange;
  // Of the sandbox. The session is in use, and so not idle, as long as this lives. It may end by its expiry meanwhile.
  session::SessionUse use;
  auth::AuthorizedTenant tenant;
  auth::Quotas& quotas;
  // The sandbox's access token came with the request, or the sandbox needs none. Routes for which a signature is enough
  // are called without it, too: GET and POST /files, GET /health.
  bool authorized = false;
  // What a signature of this sandbox is made with. Empty if the sandbox needs no token.
  std::string access_token;
  // The user that the request names; empty: the sandbox's own.
  std::string user;
};

}  // namespace cloche::dialect::e2b
