// /execute and /bash, and the runs of a session: followed as events, in the background, listed, signalled, stopped.
#pragma once

#include "api/call.hpp"
#include "language/language_registry.hpp"
#include "session/store.hpp"

namespace cloche::api {

// All outlive the routes.
void add_run_routes(CallRouter& router, session::SessionStore& store, const LanguageRegistry& languages,
                    const auth::AccessTable& access, auth::Quotas& quotas);

}  // namespace cloche::api
