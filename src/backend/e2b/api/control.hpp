// Control: typed calls of a service's control plane, which makes, lists, prolongs and removes sandboxes.
//
// A call that the service turns away for now is repeated within its deadline: 429 after the time that the service asks
// for, 502, 503 and 504 with growing pauses. So is a call that got no response, unless it makes something. Errors are
// typed: permission_denied for a bad key, limit_reached, not_found, unavailable, timeout, protocol.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/e2b/api/messages.hpp"
#include "backend/e2b/options.hpp"
#include "core/async/task.hpp"
#include "http/client.hpp"

namespace cloche::e2b {

class Control {
 public:
  Control(Executor executor, E2bSettings settings, Address address);

  const E2bSettings& settings() const { return settings_; }
  // For messages: where the service is.
  std::string describe() const;

  struct Created {
    RemoteSandbox sandbox;
    // A response was lost on the way: there may be another sandbox with the same metadata.
    bool may_have_twin = false;
  };
  // not_found for an unknown template. `has_answered` is set once the service has said that it made none, or which one:
  // until then a sandbox may still appear.
  Task<Result<Created>> create(NewSandbox wanted, bool& has_answered, Deadline deadline);
  // not_found if there is none.
  Task<Result<RemoteSandbox>> detail(std::string sandbox, Deadline deadline);
  // All with this metadata, running and paused.
  Task<Result<std::vector<RemoteSandbox>>> list(Metadata wanted, Deadline deadline);
  // Whether the key is valid.
  Task<Status> check_key(Deadline deadline);
  // not_found if there is none any more.
  Task<Status> set_lifetime(std::string sandbox, std::uint32_t seconds, Deadline deadline);
  // Success also if there is none any more.
  Task<Status> remove(std::string sandbox, Deadline deadline);

 private:
  struct Call {
    std::string method;
    std::string target;
    std::string body;
    // Whether it may be sent again although it may have been done: all but what makes something.
    bool is_repeatable = true;
    bool* has_answered = nullptr;   // see create()
    bool* was_swallowed = nullptr;  // a request was repeated that may have been done
  };
  Task<Result<http::Response>> send(Call call, Deadline deadline);
  http::Request request_for(const Call& call) const;

  E2bSettings settings_;
  Address address_;
  http::Client client_;
};

}  // namespace cloche::e2b
