// EnvdService: what E2B's envd serves on port 49983 of a sandbox: its programs, files and state.
#pragma once

#include "dialect/e2b/data_call.hpp"
#include "dialect/e2b/envd/routes.hpp"

namespace cloche::dialect::e2b {

class EnvdService {
 public:
  EnvdService();

  // Answers a request. Unknown paths are answered with 404, other methods with 405, a missing token with 401. A call
  // whose session ends or is paused meanwhile breaks off.
  Task<> serve(DataCall& call);

 private:
  EnvdRouter router_;
};

}  // namespace cloche::dialect::e2b
