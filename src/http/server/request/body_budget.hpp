// BodyBudget: how many bytes of request and response bodies a server holds in memory at a time, in all and for each
// tenant. Pure, and of one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cloche/bytes.hpp"
#include "core/deadline.hpp"
#include "http/server/request/request_error.hpp"

namespace cloche::http {

// What one tenant holds.
struct BodyAccount {
  Bytes most;
  std::uint64_t used = 0;
  Deadline pressed_until = Deadline::after({});
};

class BodyBudget {
 public:
  explicit BodyBudget(Bytes most) : most_(most) {}
  BodyBudget(const BodyBudget&) = delete;
  BodyBudget& operator=(const BodyBudget&) = delete;

  // The tenant's account, shared by all of its requests and forgotten with the last of them.
  std::shared_ptr<BodyAccount> account(const std::string& tenant, Bytes most);

  std::uint64_t used() const { return used_; }
  std::uint64_t refused() const { return refused_; }

 private:
  friend class BodyShare;

  Bytes most_;
  std::uint64_t used_ = 0;
  std::uint64_t refused_ = 0;
  Deadline pressed_until_ = Deadline::after({});
  std::map<std::string, std::weak_ptr<BodyAccount>, std::less<>> accounts_;
};

// The share of one request in the budget. It is released by the destructor.
class BodyShare {
 public:
  // The first bytes of a request cost nothing: small requests are served however little is left.
  static constexpr std::uint64_t free_of_charge = 64 << 10;
  // How long after a refusal those who hold something while they are slow are ended sooner.
  static constexpr std::chrono::seconds pressure{5};

  explicit BodyShare(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;
  ~BodyShare() { give_back(); }

  // Before anything is taken.
  void charge_to(std::shared_ptr<BodyAccount> account) { account_ = std::move(account); }
  // For another part of the same request with its own lifetime.
  std::unique_ptr<BodyShare> another() const;

  // All of it, or nothing and why: 429 when the tenant has used up its part, 503 when the server has.
  std::optional<RequestError> take(std::uint64_t bytes);
  // For bytes that already exist and have to be sent.
  void take_anyway(std::uint64_t bytes);
  // The bytes are no longer in memory.
  void give_back();

  // Something is held that others have just been refused for.
  bool under_pressure() const;
  bool holds_any() const { return charged_ > 0; }

 private:
  // By how much the charge grows with that many more bytes.
  std::uint64_t cost_of(std::uint64_t bytes) const;
  void charge(std::uint64_t bytes, std::uint64_t cost);

  std::shared_ptr<BodyBudget> budget_;
  std::shared_ptr<BodyAccount> account_;
  std::uint64_t held_ = 0;
  std::uint64_t charged_ = 0;
};

}  // namespace cloche::http
