// Probe: whether a runtime really works on this host and what its kernel can do, found out by running a sandbox with
// it.
#pragma once

#include <string>
#include <string_view>

#include "backend/oci/host.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"

namespace cloche::oci {

// Runs one sandbox whose agent prints its version and what it finds of the kernel; the runtime with that filled in. The
// answer is remembered until the next boot, or until the runtime or the agent changes; a failure is tried again after
// some minutes.
Result<Runtime> probe_runtime(Host& host, Runtime runtime, const CancelToken& token);

// Whether a sandbox like this one can be created here, determined by creating one. A missing image proves nothing.
Status prove_sandbox(Host& host, const SandboxSpec& spec, const CancelToken& token);

// The runtime of this name, or for "auto" the strongest that is here and passes its probe.
Result<Runtime> choose_runtime(Host& host, std::string_view name, const CancelToken& token);

}  // namespace cloche::oci
