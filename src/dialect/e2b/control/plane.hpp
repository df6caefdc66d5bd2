// ControlPlane: E2B's REST API over sandboxes.
#pragma once

#include <string>
#include <vector>

#include "dialect/e2b/control/routes.hpp"

namespace cloche::dialect::e2b {

class ControlPlane {
 public:
  // The parts outlive it.
  explicit ControlPlane(Parts& parts);

  // Every request has an API key, except for GET /health.
  Task<> serve(http::Exchange& exchange);
  std::vector<std::string> route_names() const;

 private:
  Task<> serve_route(http::Exchange& exchange, auth::Principal principal);

  Parts& parts_;
  ControlRouter router_;
};

}  // namespace cloche::dialect::e2b
