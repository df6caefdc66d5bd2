// Owners: who may use which profile, secret, rule set and language of a service, and choose a network, as its
// configuration says it.
#pragma once

#include <vector>

#include "cloche/profile.hpp"
#include "config/config.hpp"
#include "language/language_registry.hpp"
#include "pool/tenancy.hpp"

namespace cloche::server {

// Whether its sandboxes contain something that not every tenant may use: secrets, mounts of the host, a network.
bool is_guarded(const Profile& profile);

// A profile without such things is for every tenant unless it lists some. One that has them must say whom it is for:
// `invalid_argument` says what to write. A secret and a rule set can be named by the tenants that they list alone. A
// language that Cloche ships is for every tenant, one that the configuration adds for those who may use a profile of
// it. `profiles` are all there are, those that Cloche makes itself included.
Result<pool::Tenancy> owners_of(const config::Config& config, const std::vector<Profile>& profiles,
                                const LanguageRegistry& languages);

// Secrets that no profile has and no tenant may name. They are of no use, which is worth a warning.
std::vector<std::string> useless_secrets(const config::Config& config, const std::vector<Profile>& profiles);

}  // namespace cloche::server
