// A session by the name people give it: the tenant is found out where it is not said.
#pragma once

#include <boost/json/array.hpp>
#include <string>

#include "cli/client/service.hpp"

namespace cloche::cli {

struct SessionPlace {
  std::string tenant;
  std::string session;

  // `/sessions/{tenant}/{session}`
  std::string target() const;
};

// `not_found` if it does not exist; `invalid_argument` if several tenants have one and none is given.
Task<Result<SessionPlace>> find_session(Service& service, std::string session, std::string tenant);
// The same, and creates it if it does not exist.
Task<Result<SessionPlace>> find_or_make_session(Service& service, std::string session, std::string tenant);
// With these volumes, as its body has them. `invalid_argument` if it exists without them: a session has its volumes
// from its start.
Task<Result<SessionPlace>> find_or_make_session(Service& service, std::string session, std::string tenant,
                                                boost::json::array volumes);

}  // namespace cloche::cli
