// The dialects of the service: which are open, what they need, and how requests reach them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/dialect.hpp"
#include "config/config.hpp"
#include "dialect/e2b/parts.hpp"
#include "http/server/exchange.hpp"
#include "language/language_registry.hpp"

namespace cloche::server {

using Dialects = std::vector<std::unique_ptr<api::Dialect>>;

// Adds the profile `base` of E2B's default template if the dialect is open and no profile has this name: with the
// image, the runtime and the limits of the profile of sessions, which exists, and with a user and a home directory as
// E2B's sandboxes have them. Mounts, secrets, GPUs and a network are not copied. False: it added nothing.
bool add_base_profile(config::Config& config, const LanguageRegistry& languages);
// After settle_session_workspace: the files of a `base` that was added are where those of sessions are.
void settle_base_workspace(config::Config& config);

// Those that the configuration opens.
Result<Dialects> open_dialects(dialect::e2b::Surroundings around, const config::DialectSettings& settings,
                               const std::string& e2b_key_file);

// Requests that a dialect claims are the dialect's, once the service is ready; all others are for `own`. The dialects
// outlive the handler.
http::Handler with_dialects(const Dialects& dialects, http::Handler own, std::function<bool()> is_ready);

}  // namespace cloche::server
