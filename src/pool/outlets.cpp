#include "pool/outlets.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "egress/secrets/secret_interceptor.hpp"
#include "egress/tls/trust.hpp"

namespace cloche::pool {

namespace {

// One line for each event. Never a query, a header or a body.
void log_egress(const egress::EgressEvent& event) {
  const std::string address = event.address ? event.address->text() : "";
  std::vector<log::Field> fields;
  const auto add_text = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) fields.push_back({name, value});
  };
  const auto add_number = [&](std::string_view name, std::uint64_t value) {
    fields.push_back({name, static_cast<std::int64_t>(value)});
  };
  add_text("tenant", event.tenant);
  add_text("where", event.where);
  add_text("outcome", egress::to_string(event.outcome));
  add_text("protocol", egress::to_string(event.protocol));
  add_text("host", event.host);
  add_text("address", address);
  add_number("port", event.port);
  add_text("method", event.method);
  add_text("path", event.path);
  if (event.status != 0) add_number("status", event.status);
  add_text("rule", event.rule);
  add_text("secret", event.secret);
  add_text("reason", event.reason);
  add_number("bytes_up", event.bytes_up);
  add_number("bytes_down", event.bytes_down);
  add_number("ms", static_cast<std::uint64_t>(event.duration.count()));
  log::event(spdlog::level::info, "egress", fields);
}

bool has_secret(const std::vector<egress::Rule>& rules) {
  return std::ranges::any_of(rules, [](const egress::Rule& rule) { return rule.secret.has_value(); });
}

}  // namespace

Result<std::unique_ptr<Outlets>> Outlets::create(Executor executor, const ManagerOptions& options,
                                                 const auth::AccessTable& access, MeterFactory meters) {
  std::unique_ptr<Outlets> outlets(new Outlets(std::move(executor), options.egress, access, std::move(meters)));
  CLOCHE_TRY(outlets->sets_, egress::to_rule_sets(options.egress));
  if (!options.egress.upstream_proxy.empty()) {
    CLOCHE_TRY(outlets->upstream_, egress::parse_upstream_proxy(options.egress.upstream_proxy));
  }
  CLOCHE_CHECK(outlets->prepare_secrets(options.engine));
  for (const Profile& profile : options.profiles) {
    auto policy = egress::policy_of(profile.network, outlets->sets_, egress::Rights::of_operator());
    if (policy) continue;
    return fail(ErrorCode::invalid_argument, "profile '" + profile.name + "': " + policy.error().message);
  }
  return outlets;
}

Outlets::Outlets(Executor executor, EgressOptions options, const auth::AccessTable& access, MeterFactory meters)
    : executor_(std::move(executor)), options_(std::move(options)), access_(access), meters_(std::move(meters)) {}

Outlets::~Outlets() = default;

Status Outlets::prepare_secrets(const EngineOptions& engine) {
  if (std::ranges::none_of(sets_, [](const auto& set) { return has_secret(set.second.allow); })) return {};
  egress::SecretInterceptorOptions options;
  CLOCHE_TRY(options.authority, egress::CertificateAuthority::open(engine.state_dir, engine.instance));
  CLOCHE_TRY(options.client, egress::make_client_context(options_.extra_ca));
  CLOCHE_TRY(trust_bundle_, egress::make_trust_bundle(options_.extra_ca, options.authority->certificate_pem()));
  options.secrets.named.insert(options_.secrets.begin(), options_.secrets.end());
  options.idle = options_.idle_timeout;
  interceptor_ = std::make_shared<egress::SecretInterceptor>(executor_, std::move(options));
  return {};
}

const std::string* Outlets::trust_bundle_for(const egress::Policy& policy) const {
  return has_secret(policy.allow) ? &trust_bundle_ : nullptr;
}

egress::Rights Outlets::rights_of(const std::string& tenant) const {
  if (access_.is_trusting()) return egress::Rights::of_operator();
  egress::Rights rights;
  rights.may_choose = access_.allows(auth::Resource::network, auth::own_network, tenant);
  rights.may_use_set = [this, tenant](std::string_view name) {
    return access_.allows(auth::Resource::rule_set, name, tenant);
  };
  return rights;
}

Result<egress::Policy> Outlets::policy_for(const Profile& profile, const ClaimOptions& claim) const {
  if (!claim.network) return egress::policy_of(profile.network, sets_, egress::Rights::of_operator());
  // Where GPUs may have a network, the operator's profile has one.
  const bool gets_one = claim.network->mode != Network::none && profile.network.mode == Network::none;
  if (gets_one && !profile.sandbox.gpus.empty()) {
    return fail(ErrorCode::invalid_argument, "profile '" + profile.name + "' has GPUs, and so no network");
  }
  return egress::policy_of(*claim.network, sets_, rights_of(claim.tenant));
}

std::map<std::string, std::string> Outlets::variables_for(const egress::Policy& policy) const {
  if (policy.network == Network::none) return {};
  auto variables = egress::SandboxEgress::proxy_variables(options_.port);
  if (trust_bundle_for(policy) != nullptr) variables.merge(egress::trust_variables(std::string(trust_path)));
  return variables;
}

std::shared_ptr<Outlet> Outlets::make(std::shared_ptr<LiveSandbox> sandbox, Place place, egress::Policy policy) {
  egress::SandboxEgressOptions options;
  options.meter = meters_ ? meters_(place.tenant) : nullptr;
  options.tenant = std::move(place.tenant);
  options.where = std::move(place.where);
  options.policy = std::move(policy);
  options.books = place.books;
  auto egress = broker().open(std::move(options));
  place.books = egress->shared_books();
  const EgressListenSpec spec{.proxy_port = options_.port, .transparent = sandbox->has_transparent_egress()};
  return std::make_shared<Outlet>(executor_, std::move(sandbox), std::move(egress), spec);
}

egress::Broker& Outlets::broker() {
  if (broker_) return *broker_;
  egress::BrokerOptions options;
  options.connections = options_.max_connections;
  options.resolve = options_.resolve_timeout;
  options.connect = options_.connect_timeout;
  options.idle = options_.idle_timeout;
  options.kept_events = options_.events;
  options.upstream = upstream_;
  options.forbidden = forbidden_;
  options.interceptor = interceptor_;
  options.watcher = log_egress;
  broker_ = std::make_unique<egress::Broker>(executor_, std::move(options));
  return *broker_;
}

void Outlets::forbid(const egress::ForbiddenPlace& place) {
  forbidden_.push_back(place);
  if (broker_) broker_->forbid(place);
}

egress::Totals Outlets::totals() const { return broker_ ? broker_->totals() : egress::Totals{}; }

}  // namespace cloche::pool
