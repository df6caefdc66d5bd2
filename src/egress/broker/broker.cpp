#include "egress/broker/broker.hpp"

#include "egress/broker/state.hpp"

namespace cloche::egress {

Broker::Broker(Executor executor, BrokerOptions options)
    : state_(std::make_shared<BrokerState>(std::move(executor), std::move(options))) {}

Broker::~Broker() = default;

std::shared_ptr<SandboxEgress> Broker::open(SandboxEgressOptions options) {
  return std::make_shared<SandboxEgress>(state_, std::move(options));
}

void Broker::forbid(ForbiddenPlace place) { state_->options.forbidden.push_back(place); }

const Totals& Broker::totals() const { return *state_->totals; }

}  // namespace cloche::egress
