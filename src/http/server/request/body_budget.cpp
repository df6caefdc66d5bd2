#include "http/server/request/body_budget.hpp"

#include "core/bytes.hpp"

namespace cloche::http {

std::shared_ptr<BodyAccount> BodyBudget::account(const std::string& tenant, Bytes most) {
  if (const auto found = accounts_.find(tenant); found != accounts_.end()) {
    if (auto account = found->second.lock()) return account;
  }
  constexpr std::size_t worth_a_sweep = 1024;
  if (accounts_.size() >= worth_a_sweep)
    std::erase_if(accounts_, [](const auto& each) { return each.second.expired(); });
  auto account = std::make_shared<BodyAccount>(BodyAccount{.most = most});
  accounts_[tenant] = account;
  return account;
}

std::unique_ptr<BodyShare> BodyShare::another() const {
  auto share = std::make_unique<BodyShare>(budget_);
  share->charge_to(account_);
  return share;
}

void BodyShare::give_back() {
  budget_->used_ -= charged_;
  if (account_) account_->used -= charged_;
  held_ = 0;
  charged_ = 0;
}

std::uint64_t BodyShare::cost_of(std::uint64_t bytes) const {
  const std::uint64_t total = held_ + bytes;
  return total > free_of_charge ? total - free_of_charge - charged_ : 0;
}

void BodyShare::charge(std::uint64_t bytes, std::uint64_t cost) {
  held_ += bytes;
  charged_ += cost;
  budget_->used_ += cost;
  if (account_) account_->used += cost;
}

std::optional<RequestError> BodyShare::take(std::uint64_t bytes) {
  const std::uint64_t cost = cost_of(bytes);
  const auto lacks = [&](std::uint64_t used, Bytes most) {
    return cost > 0 && cost > most.count - std::min(used, most.count);
  };
  if (account_ && lacks(account_->used, account_->most)) {
    account_->pressed_until = Deadline::after(pressure);
    ++budget_->refused_;
    return RequestError{429, "the bodies of the tenant's requests in flight use all of its " +
                                 to_string(account_->most) + "; retry when some of them are done"};
  }
  if (lacks(budget_->used_, budget_->most_)) {
    budget_->pressed_until_ = Deadline::after(pressure);
    ++budget_->refused_;
    return RequestError{503, "the server's limit for request bodies in memory is reached; retry soon"};
  }
  charge(bytes, cost);
  return std::nullopt;
}

void BodyShare::take_anyway(std::uint64_t bytes) { charge(bytes, cost_of(bytes)); }

bool BodyShare::under_pressure() const {
  if (!holds_any()) return false;
  return !budget_->pressed_until_.passed() || (account_ && !account_->pressed_until.passed());
}

}  // namespace cloche::http
