// Which sandbox a signed URL of a file is for: the client sends no id, so every sandbox's token is tried. The work is
// bounded, because anyone may ask.
#pragma once

#include <chrono>
#include <expected>
#include <string>

#include "core/clock.hpp"
#include "dialect/e2b/sandboxes.hpp"
#include "http/server/request/target.hpp"

namespace cloche::dialect::e2b {

// A request that is served at a rate: so many steps in a second, and no more than that at once.
class StepBudget {
 public:
  StepBudget(double per_second, SteadyClock clock)
      : per_second_(per_second), left_(per_second), clock_(std::move(clock)), filled_(clock_()) {}

  // False, and nothing is taken, if not so many are left.
  bool take(std::size_t steps);

 private:
  double per_second_;
  double left_;
  SteadyClock clock_;
  SteadyTime filled_;
};

// What a signed URL says.
struct SignedUrl {
  std::string path;
  std::string operation;  // `read` or `write`
  std::string user;
  std::optional<std::string> expires;
  std::string signature;
};

// nullopt if the query cannot be one.
std::optional<SignedUrl> read_signed_url(std::string_view method, const http::Query& query);

// nullptr if no sandbox fits.
SandboxPtr find_signed(const Sandboxes& sandboxes, const SignedUrl& url);

}  // namespace cloche::dialect::e2b
