// Client: requests the same run again and again, over its own connection.
#pragma once

#include "core/async/task.hpp"

namespace cloche::bench {

class Client {
 public:
  virtual ~Client() = default;

  // One complete run: request, run, response, and the check of the response.
  virtual Task<Status> run_once() = 0;
};

}  // namespace cloche::bench
