// InterpreterService: the code interpreter of a sandbox (port 49999): contexts, and executions with rich results.
#pragma once

#include "dialect/e2b/data_call.hpp"
#include "http/server/router.hpp"

namespace cloche::dialect::e2b {

class InterpreterService {
 public:
  static constexpr std::uint16_t port = 49999;

  InterpreterService();

  // Errors are one line of text, as clients expect them of this service.
  Task<> serve(DataCall& call) const;

 private:
  using Handler = Task<Status> (*)(DataCall&, const http::PathParameters&);
  http::Router<Handler> routes_;
};

}  // namespace cloche::dialect::e2b
