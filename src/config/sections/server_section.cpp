#include "config/sections/server_section.hpp"

#include <algorithm>

#include "auth/jwt/jwt_claims.hpp"
#include "auth/names.hpp"
#include "config/text.hpp"
#include "sandbox/spec.hpp"

namespace cloche::config {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view path_rule = "an absolute path without '..', '.' or empty parts";
constexpr std::size_t most_addresses = 16;
constexpr std::uint64_t most_of_a_quota = 1'000'000;

bool is_not_empty(std::string_view text) { return !text.empty(); }

void read_tls(Section& section, TlsFiles& files) {
  section.text("certificate", files.certificate, path_rule, is_clean_absolute_path);
  section.text("key", files.key, path_rule, is_clean_absolute_path);
  if (!section.has("certificate") || !section.has("key")) section.refuse("TLS requires both certificate and key");
}

void read_jwt(Section& section, auth::JwtOptions& options) {
  section.text("keys", options.key_file, path_rule, is_clean_absolute_path);
  section.choice("form", options.key_form,
                 {{"jwks", auth::KeyForm::jwks}, {"pem", auth::KeyForm::pem}, {"secret", auth::KeyForm::secret}});
  section.text("issuer", options.claims.issuer, "the name of the issuer", is_not_empty);
  section.text("audience", options.claims.audience, "the name of this service", is_not_empty);
  section.text("tenant_claim", options.claims.tenant_claim, "the name of a claim", is_not_empty);
  section.text("role_claim", options.claims.role_claim, "the name of a claim", is_not_empty);
  std::chrono::milliseconds leeway = options.claims.leeway;
  section.duration("leeway", leeway, {0ms, 5min});
  options.claims.leeway = std::chrono::ceil<std::chrono::seconds>(leeway);
  for (const char* key : {"keys", "issuer", "audience"}) {
    if (!section.has(key))
      return section.refuse("JWTs require keys, issuer and audience; `" + std::string(key) + "` is missing");
  }
  section.check(auth::check_rules(options.claims));
}

void read_most(Section& section, std::string_view key, std::optional<std::uint32_t>& most) {
  std::uint32_t value = 0;
  section.whole(key, value, {0, most_of_a_quota});
  if (section.has(key)) most = value;
}

void read_rate(Section& section, std::string_view key, std::optional<auth::Rate>& read) {
  section.section(key, [&](Section& below) {
    auth::Rate& rate = read.emplace();
    below.real("per_second", rate.per_second);
    // Without an explicit burst, the requests of one second may come at once.
    rate.burst = static_cast<std::uint32_t>(std::clamp(rate.per_second, 1.0, 1e6));
    below.whole("burst", rate.burst, {1, 1'000'000});
    if (!below.has("per_second")) return below.refuse("per_second is required");
    auth::QuotaOptions alone;
    alone.limits.requests = rate;
    below.check(auth::check_quotas(alone));
  });
}

void read_quota(Section& section, auth::QuotaLimits& limits) {
  read_most(section, "sessions", limits.sessions);
  read_most(section, "runs", limits.runs);
  read_most(section, "contexts", limits.contexts);
  read_most(section, "leases", limits.leases);
  read_most(section, "calls", limits.calls);
  read_most(section, "streams", limits.streams);
  read_most(section, "connections", limits.connections);
  read_most(section, "files", limits.files);
  read_most(section, "egress_connections", limits.egress_connections);
  Bytes egress;
  section.size("egress_bytes", egress);
  if (section.has("egress_bytes")) limits.egress_bytes = egress.count;
  read_most(section, "volumes", limits.volumes);
  Bytes volumes;
  section.size("volume_bytes", volumes);
  if (section.has("volume_bytes")) limits.volume_bytes = volumes.count;
  read_most(section, "snapshots", limits.snapshots);
  Bytes snapshots;
  section.size("snapshot_bytes", snapshots);
  if (section.has("snapshot_bytes")) limits.snapshot_bytes = snapshots.count;
  read_rate(section, "requests", limits.requests);
  read_rate(section, "egress_requests", limits.egress_requests);
}

void read_quotas(Section& section, auth::QuotaOptions& options, http::TenantBodies& bodies) {
  read_quota(section, options.limits);
  section.size("bodies", bodies.most);
  section.sections("tenants", [&](const std::string& name, Section& below) {
    if (!auth::is_valid_name(name)) {
      return below.refuse(shown(name) + " is not a valid tenant name: 1 to 64 letters, digits, '_', '.' and '-'");
    }
    read_quota(below, options.named[name]);
    Bytes most = http::TenantBodies().most;
    below.size("bodies", most);
    bodies.named[name] = most;
  });
}

void read_span(Section& section, std::string_view key, http::ServerLimits::Span& span, DurationRange range) {
  auto value = std::chrono::duration_cast<std::chrono::milliseconds>(span);
  section.duration(key, value, range);
  span = value;
}

void read_limits_of_requests(Section& section, http::ServerLimits& limits) {
  section.size("body", limits.body);
  section.size("body_budget", limits.body_budget);
  section.size("body_rate", limits.body_rate);
  read_span(section, "body_window", limits.body_window, {100ms, 10min});
  std::uint64_t connections = limits.connections;
  section.whole("connections", connections, {1, 100'000});
  limits.connections = connections;
  read_span(section, "head_timeout", limits.head_time, {100ms, 10min});
  read_span(section, "idle_timeout", limits.idle, {100ms, 1h});
  read_span(section, "write_timeout", limits.write_stall, {100ms, 1h});
}

}  // namespace

void read_server(Section& section, ServerSettings& settings) {
  section.texts("listen", settings.listen);
  const bool no_address = section.has("listen") && settings.listen.empty();
  if (no_address || settings.listen.size() > most_addresses || std::ranges::count(settings.listen, "") > 0) {
    section.refuse("listen", "must be a list of 1 to 16 addresses such as 127.0.0.1:8080 or unix:/run/cloche.sock");
  }
  section.section("tls", [&](Section& below) { read_tls(below, settings.tls.emplace()); });
  section.choice("auth", settings.auth,
                 {{"auto", AuthMode::automatic}, {"tokens", AuthMode::tokens}, {"none", AuthMode::none}});
  section.text("tokens", settings.tokens, path_rule, is_clean_absolute_path);
  section.section("jwt", [&](Section& below) { read_jwt(below, settings.jwt.emplace()); });
  section.section("quotas", [&](Section& below) { read_quotas(below, settings.quotas, settings.tenant_bodies); });
  section.section("limits", [&](Section& below) { read_limits_of_requests(below, settings.limits); });
  if (settings.auth == AuthMode::none && (settings.jwt || !settings.tokens.empty())) {
    section.refuse("auth", "is none, but `tokens` or `jwt` is configured: remove one or the other");
  }
}

}  // namespace cloche::config
