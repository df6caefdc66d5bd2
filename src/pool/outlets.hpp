// Outlets: which network a claim gets, and the broker that carries its connections. One for all pools of a manager.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "auth/access_table.hpp"
#include "cloche/manager_options.hpp"
#include "egress/broker/broker.hpp"
#include "egress/policy/choice.hpp"
#include "pool/outlet.hpp"

namespace cloche::pool {

// What a tenant's connections are counted by; none: nothing is limited.
using MeterFactory = std::function<std::shared_ptr<egress::Meter>(const std::string& tenant)>;

class Outlets {
 public:
  // invalid_argument for rules that cannot be read, and for a profile whose network names a rule set that does not
  // exist; the errors of CertificateAuthority::open if a rule has a secret. Nothing is started until a sandbox has a
  // network. `access` outlives it.
  static Result<std::unique_ptr<Outlets>> create(Executor executor, const ManagerOptions& options,
                                                 const auth::AccessTable& access, MeterFactory meters);
  ~Outlets();
  Outlets(const Outlets&) = delete;
  Outlets& operator=(const Outlets&) = delete;

  // The policy of the network that a claim asks for, by its tenant's rights, or else of the profile's.
  Result<egress::Policy> policy_for(const Profile& profile, const ClaimOptions& claim) const;
  // What programs of a sandbox with this policy find in their environment.
  std::map<std::string, std::string> variables_for(const egress::Policy& policy) const;

  // The file that these programs trust, because the server ends their TLS where it puts a secret on requests; nullptr
  // where it does not. It goes to trust_path.
  const std::string* trust_bundle_for(const egress::Policy& policy) const;
  static constexpr std::string_view trust_path = "/tmp/.cloche/trust.pem";

  struct Place {
    std::string tenant;
    std::string where;                      // for the books
    std::shared_ptr<egress::Books>& books;  // of the lease; made by the first outlet
  };
  // Does not listen yet. The first one starts the broker.
  std::shared_ptr<Outlet> make(std::shared_ptr<LiveSandbox> sandbox, Place place, egress::Policy policy);

  // Where this server listens itself: no policy opens it.
  void forbid(const egress::ForbiddenPlace& place);
  egress::Totals totals() const;

 private:
  Outlets(Executor executor, EgressOptions options, const auth::AccessTable& access, MeterFactory meters);
  egress::Rights rights_of(const std::string& tenant) const;
  egress::Broker& broker();
  // Makes the authority and the interceptor, if a rule has a secret.
  Status prepare_secrets(const EngineOptions& engine);

  Executor executor_;
  EgressOptions options_;
  const auth::AccessTable& access_;
  MeterFactory meters_;
  egress::RuleSets sets_;
  std::optional<egress::UpstreamProxy> upstream_;
  std::vector<egress::ForbiddenPlace> forbidden_;
  std::shared_ptr<egress::Interceptor> interceptor_;
  std::string trust_bundle_;
  std::unique_ptr<egress::Broker> broker_;
};

}  // namespace cloche::pool
