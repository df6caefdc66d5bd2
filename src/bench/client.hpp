// Client: somebody who asks for the same run again and again, over a connection of its own.
#pragma once

#include "core/task.hpp"

namespace cloche::bench {

class Client {
 public:
  virtual ~Client() = default;

  // One run, whole: asked, done, answered, and the answer looked at.
  virtual Task<Status> run_once() = 0;
};

}  // namespace cloche::bench
