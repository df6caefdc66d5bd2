#include "api/runs/session_runs.hpp"

namespace cloche::api {

namespace {

constexpr std::chrono::seconds recovery_patience{30};

}  // namespace

Task<Result<session::Runs*>> runs_of(const session::SessionUse& use) {
  auto& runs = use->part<session::Runs>();
  auto recovered = co_await runs.recover(use.shared(), Deadline::after(recovery_patience));
  if (!recovered) co_return fail(std::move(recovered).error());
  co_return &runs;
}

}  // namespace cloche::api
