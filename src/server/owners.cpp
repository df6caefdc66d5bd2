#include "server/owners.hpp"

#include <algorithm>

namespace cloche::server {

namespace {

using auth::AccessList;
using auth::AccessTable;
using auth::Resource;

std::string guarded_things(const Profile& profile) {
  std::string things;
  const auto add = [&](bool has, const char* what) {
    if (has) things += (things.empty() ? "" : " and ") + std::string(what);
  };
  add(!profile.secrets.empty(), "secrets");
  add(!profile.sandbox.mounts.empty(), "mounts");
  add(profile.network.mode != Network::none, "a network");
  add(!profile.sandbox.gpus.empty(), "GPUs");
  return things;
}

Result<AccessList> owners_of_profile(const AccessTable::Lists& said, const Profile& profile) {
  if (const auto found = said.find(profile.name); found != said.end()) return found->second;
  if (!is_guarded(profile)) return AccessList::all();
  return fail(
      ErrorCode::invalid_argument,
      "profile '" + profile.name + "' has " + guarded_things(profile) +
          " but does not list the tenants that may use it; add `tenants: [NAME, ...]` to it, `tenants: all` for "
          "every tenant, or `tenants: []` for none (without tokens, callers are tenant `default`)");
}

AccessList owners_of_language(const AccessTable& table, const Language& language, const LanguageRegistry& languages,
                              const std::vector<Profile>& profiles) {
  const auto places = LanguageRegistry::profiles_for(language, profiles);
  if (languages.is_shipped(language.name) || places.empty()) return AccessList::all();
  AccessList::Tenants tenants;
  for (const std::string& place : places) {
    const AccessList& list = table.lists_of(Resource::profile).find(place)->second;
    if (list.is_all()) return AccessList::all();
    tenants.insert(list.tenants().begin(), list.tenants().end());
  }
  return AccessList(std::move(tenants));
}

}  // namespace

bool is_guarded(const Profile& profile) { return !guarded_things(profile).empty(); }

Result<pool::Tenancy> owners_of(const config::Config& config, const std::vector<Profile>& profiles,
                                const LanguageRegistry& languages) {
  pool::Tenancy tenancy;
  AccessTable& table = tenancy.access;
  for (const Profile& profile : profiles) {
    CLOCHE_TRY(AccessList list, owners_of_profile(config.access.profiles, profile));
    table.set(Resource::profile, profile.name, std::move(list));
  }
  for (const auto& [name, value] : config.manager.secrets) {
    const auto said = config.access.secrets.find(name);
    table.set(Resource::secret, name, said == config.access.secrets.end() ? AccessList() : said->second);
  }
  for (const auto& [name, rules] : config.manager.egress.rules) {
    const auto said = config.access.rule_sets.find(name);
    table.set(Resource::rule_set, name, said == config.access.rule_sets.end() ? AccessList() : said->second);
  }
  table.set(Resource::network, std::string(auth::own_network), config.access.network);
  for (const auto& [name, language] : languages.all()) {
    table.set(Resource::language, name, owners_of_language(table, language, languages, profiles));
  }
  tenancy.fallbacks = languages.fallbacks_for(profiles);
  return tenancy;
}

std::vector<std::string> useless_secrets(const config::Config& config, const std::vector<Profile>& profiles) {
  std::vector<std::string> useless;
  for (const auto& [name, value] : config.manager.secrets) {
    const auto has_it = [&](const Profile& profile) {
      return std::ranges::find(profile.secrets, name) != profile.secrets.end();
    };
    if (!config.access.secrets.contains(name) && !std::ranges::any_of(profiles, has_it)) useless.push_back(name);
  }
  return useless;
}

}  // namespace cloche::server
