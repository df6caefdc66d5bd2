#include "library/private_network.hpp"

#include "library/throwing.hpp"

namespace cloche {

namespace {

constexpr std::chrono::seconds open_timeout{30};

}  // namespace

Task<std::unique_ptr<PrivateNetwork>> PrivateNetwork::open(Executor executor, std::shared_ptr<LiveSandbox> sandbox,
                                                           NetworkPolicy network) {
  auto made = std::make_unique<PrivateNetwork>();
  ManagerOptions options;
  made->outlets_ = value_or_throw(pool::Outlets::create(std::move(executor), options, made->access_, {}));
  ClaimOptions claim;
  claim.network = std::move(network);
  const Profile none;
  egress::Policy policy = value_or_throw(made->outlets_->policy_for(none, claim));
  made->variables_ = made->outlets_->variables_for(policy);
  if (policy.network == Network::none) co_return made;
  const std::string name = sandbox->id().value;
  pool::Outlets::Place place{"", name, made->books_};
  made->outlet_ = made->outlets_->make(std::move(sandbox), std::move(place), std::move(policy));
  auto listening = co_await made->outlet_->listen(Deadline::after(open_timeout));
  if (!listening) co_await made->close();
  value_or_throw(std::move(listening));
  co_return made;
}

Task<> PrivateNetwork::close() {
  const auto outlet = std::exchange(outlet_, nullptr);
  if (outlet) co_await outlet->close();
}

}  // namespace cloche
