// E2b: the dialect that clients of E2B speak. An E2B sandbox is a session of the tenant whose API key made it.
#pragma once

#include "api/dialect.hpp"
#include "dialect/e2b/control/plane.hpp"
#include "dialect/e2b/data/plane.hpp"

namespace cloche::dialect::e2b {

class E2b final : public api::Dialect {
 public:
  // `key_file` is in the instance's directory; it is made if it does not exist.
  static Result<std::unique_ptr<E2b>> open(Surroundings around, config::E2bSettings settings,
                                           const std::string& key_file, DataServices services);

  bool claims(const http::Exchange& exchange) const override;
  Task<> serve(http::Exchange& exchange) override;
  Task<> refuse(http::Exchange& exchange, unsigned status, std::string why) override;
  Task<> start() override { return parts_.sandboxes.start(); }
  std::vector<std::string> route_names() const override { return control_.route_names(); }

 private:
  E2b(Surroundings around, config::E2bSettings settings, SandboxKeys keys, DataServices services);
  Routed route(const http::Exchange& exchange) const;

  Parts parts_;
  ControlPlane control_;
  DataPlane data_;
};

}  // namespace cloche::dialect::e2b
