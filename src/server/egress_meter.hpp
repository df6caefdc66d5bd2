// A tenant's quotas, as the broker of connections to the outside asks for them.
#pragma once

#include "auth/quotas.hpp"
#include "pool/outlets.hpp"

namespace cloche::server {

// The quotas outlive the meters.
pool::MeterFactory egress_meters(auth::Quotas& quotas);

}  // namespace cloche::server
