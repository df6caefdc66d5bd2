// Recovery: what an earlier process of this instance left on the host is met again or removed.
#pragma once

#include <vector>

#include "backend/oci/host.hpp"
#include "backend/oci/sandbox_maker.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"

namespace cloche::oci {

// Living sandboxes come back with their channels opened again. Half-made, half-removed and dead ones are removed, and
// so are cgroups and uid ranges that carry this instance's id and belong to no sandbox. What carries another id is
// never touched: the id is random and has one holder, so what carries it was made by an earlier process of this
// instance. What cannot be removed within some seconds is in host.unremoved() afterwards.
Result<std::vector<MadeSandbox>> recover_sandboxes(Host& host, const CancelToken& token);

}  // namespace cloche::oci
