// Dialect: another system's API, spoken by the service. A dialect is a folder in src/dialect and a switch in
// `dialects:` of the configuration. It sees every request before the service's own routes.
#pragma once

#include <string>
#include <vector>

#include "core/async/task.hpp"
#include "http/server/exchange.hpp"

namespace cloche::api {

class Dialect {
 public:
  Dialect() = default;
  Dialect(const Dialect&) = delete;
  Dialect& operator=(const Dialect&) = delete;
  virtual ~Dialect() = default;

  // Whether the request is for this dialect. Called with every request: it must be cheap.
  virtual bool claims(const http::Exchange& exchange) const = 0;
  // Serves a request that it claims. Errors are answered in its own form.
  virtual Task<> serve(http::Exchange& exchange) = 0;
  // Answers such a request with an error in its form.
  virtual Task<> refuse(http::Exchange& exchange, unsigned status, std::string why) = 0;
  // After the sessions of an earlier process were found again, before the first request.
  virtual Task<> start() = 0;
  // Methods and patterns of its routes, such as "GET /v2/sandboxes".
  virtual std::vector<std::string> route_names() const = 0;
};

}  // namespace cloche::api
