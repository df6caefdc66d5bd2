// DataPlane: requests to a port of a sandbox. It finds the sandbox, checks the tokens of the request, counts it, wakes
// a sandbox that wants to be woken, and calls the service of the port.
#pragma once

#include <functional>

#include "api/session_auth_check.hpp"
#include "dialect/e2b/data/signed_files.hpp"
#include "dialect/e2b/data_call.hpp"
#include "dialect/e2b/parts.hpp"
#include "dialect/e2b/routing.hpp"

namespace cloche::dialect::e2b {

inline constexpr std::uint16_t envd_port = 49983;
inline constexpr std::uint16_t interpreter_port = 49999;

// A server of our own behind a port. It answers the request.
using DataService = std::function<Task<>(DataCall&)>;

struct DataServices {
  DataService envd;
  DataService interpreter;
};

class DataPlane {
 public:
  // The parts outlive it.
  DataPlane(Parts& parts, DataServices services);

  Task<> serve(http::Exchange& exchange, Routed routed);
  // A file by a signed URL that names no sandbox.
  Task<> serve_signed_file(http::Exchange& exchange);

 private:
  Task<> serve_sandbox(http::Exchange& exchange, SandboxPtr sandbox, Routed routed);
  Task<> serve_admitted(http::Exchange& exchange, SandboxPtr sandbox, Routed routed, bool authorized);
  Task<> serve_call(DataCall& call, const Sandbox& sandbox, const Routed& routed);
  Task<Result<session::SessionUse>> use_session(http::Exchange& exchange, Sandbox& sandbox, const Routed& routed,
                                                bool authorized);
  // Ends when the API key that the sandbox belongs to is no longer valid.
  Task<api::Revoked> wait_until_revoked(const Sandbox& sandbox) const;

  Parts& parts_;
  DataServices services_;
  StepBudget signatures_;
};

}  // namespace cloche::dialect::e2b
