// Remote: one sandbox of a service, as the parts of this backend share it. And the ways to talk to it that more than
// one of them needs.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "backend/e2b/api/control.hpp"
#include "backend/e2b/api/data_plane.hpp"
#include "sandbox/resumable_channel.hpp"

namespace cloche::e2b {

struct Remote {
  Executor executor;
  std::shared_ptr<Control> control;
  std::shared_ptr<DataPlane> plane;
  std::string id;       // the service's
  std::string sandbox;  // ours
};

// How long a sandbox lives without a server. A server prolongs it long before.
inline constexpr std::chrono::seconds lifetime{180};

// Where the agent is in every sandbox. Only root can look into this directory.
inline constexpr const char* agent_in_sandbox = "/root/.cloche/agent";

// Connections to the relay of the sandbox. A sandbox that the service does not know any more, and one whose relay has
// ended, is lost.
Dial dial_to(Remote remote);

}  // namespace cloche::e2b
