// Meter: what a tenant may use of the way out. The broker asks it; the owner of the quotas implements it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/result.hpp"

namespace cloche::egress {

// Called on the thread that owns all state. A refusal is an Error, usually `limit_reached`; its message is shown to the
// program. A meter that throws ends the connection that asked.
class Meter {
 public:
  virtual ~Meter() = default;

  // A connection whose destination the policy allows. What it returns is kept until the connection has ended.
  virtual Result<std::shared_ptr<void>> admit_connection() = 0;
  // An HTTP request that the policy allows.
  virtual Status admit_request() = 0;
  // Bytes that were transferred. A refusal ends the connection.
  virtual Status count_bytes(std::uint64_t up, std::uint64_t down) = 0;
};

}  // namespace cloche::egress
