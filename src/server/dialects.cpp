#include "server/dialects.hpp"

#include <algorithm>

#include "dialect/e2b/e2b.hpp"
#include "dialect/e2b/envd/service.hpp"
#include "dialect/e2b/interpreter/service.hpp"
#include "language/default_profiles.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::server {

namespace {

using dialect::e2b::base_profile;

Profile* find_profile(std::vector<Profile>& profiles, std::string_view name) {
  const auto found = std::ranges::find(profiles, name, &Profile::name);
  return found == profiles.end() ? nullptr : &*found;
}

dialect::e2b::DataServices services_of_e2b() {
  dialect::e2b::DataServices services;
  const auto envd = std::make_shared<dialect::e2b::EnvdService>();
  const auto interpreter = std::make_shared<const dialect::e2b::InterpreterService>();
  services.envd = [envd](dialect::e2b::DataCall& call) { return envd->serve(call); };
  services.interpreter = [interpreter](dialect::e2b::DataCall& call) { return interpreter->serve(call); };
  return services;
}

}  // namespace

bool add_base_profile(config::Config& config, const LanguageRegistry& languages) {
  auto& profiles = config.manager.profiles;
  if (!config.dialects.e2b.enabled || find_profile(profiles, base_profile) != nullptr) return false;
  const config::SessionSettings& sessions = config.sessions;
  Profile base = session_profile(languages, config.manager.engine.backend, sessions.image, sessions.most);
  base.name = base_profile;
  if (const Profile* of_sessions = find_profile(profiles, sessions.profile)) {
    base.sandbox.image = of_sessions->sandbox.image;
    base.sandbox.runtime = of_sessions->sandbox.runtime;
    base.sandbox.limits = of_sessions->sandbox.limits;
    base.pool.pool_size = of_sessions->pool.pool_size;
  }
  base.pool.pool_size = std::min(base.pool.pool_size, 1U);
  base.sandbox.work_dir = "/home/user";
  base.sandbox.user = "user";
  base.sandbox.hostname = "e2b";
  base.sandbox.root = traits_of(config.manager.engine.backend).contains_root;
  profiles.push_back(std::move(base));
  return true;
}

void settle_base_workspace(config::Config& config) {
  auto& profiles = config.manager.profiles;
  SandboxSpec& base = find_profile(profiles, base_profile)->sandbox;
  const Profile* of_sessions = find_profile(profiles, config.sessions.profile);
  if (of_sessions == nullptr) return;
  base.workspace = of_sessions->sandbox.workspace;
  base.disk_size = of_sessions->sandbox.disk_size;
  base.limits.file_size = of_sessions->sandbox.limits.file_size;
}

Result<Dialects> open_dialects(dialect::e2b::Surroundings around, const config::DialectSettings& settings,
                               const std::string& e2b_key_file) {
  Dialects dialects;
  if (settings.e2b.enabled) {
    CLOCHE_TRY(auto e2b, dialect::e2b::E2b::open(around, settings.e2b, e2b_key_file, services_of_e2b()));
    dialects.push_back(std::move(e2b));
  }
  return dialects;
}

http::Handler with_dialects(const Dialects& dialects, http::Handler own, std::function<bool()> is_ready) {
  return [&dialects, own = std::move(own), is_ready = std::move(is_ready)](http::Exchange& exchange) -> Task<> {
    const auto claims = [&](const auto& dialect) { return dialect->claims(exchange); };
    const auto claimed = std::ranges::find_if(dialects, claims);
    if (claimed == dialects.end()) return own(exchange);
    if (is_ready()) return (*claimed)->serve(exchange);
    return (*claimed)->refuse(exchange, 503, "the service is starting");
  };
}

}  // namespace cloche::server
