#include "backend/e2b/reaper.hpp"

#include <algorithm>
#include <utility>

#include "backend/e2b/metadata.hpp"
#include "core/async/event.hpp"
#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/log.hpp"

namespace cloche::e2b {

namespace {

using namespace std::chrono_literals;

constexpr auto time_in_passing = 15s;
constexpr auto time_to_retry = 5s;
constexpr auto time_in_background = 30s;
// How long a service may continue to make a sandbox after we have stopped listening.
constexpr auto late_arrival = 20s;
constexpr auto between_tries = 500ms;
constexpr std::size_t most_left = 4096;

// Removes all with our id, and returns their number.
Task<Result<std::size_t>> sweep(std::shared_ptr<Control> control, Metadata wanted, std::string kept,
                                Deadline deadline) {
  CLOCHE_CO_TRY(auto found, co_await control->list(std::move(wanted), deadline));
  std::erase_if(found, [&](const RemoteSandbox& sandbox) { return sandbox.id == kept; });
  for (const RemoteSandbox& sandbox : found) {
    CLOCHE_CO_CHECK(co_await remove_for_good(control, sandbox.id, deadline));
  }
  co_return found.size();
}

Task<Status> sweep_for_a_while(std::shared_ptr<Control> control, Metadata wanted, std::string kept,
                               Reaper::Arrival arrival) {
  const Deadline deadline = Deadline::after(time_in_background);
  const Deadline latest_arrival = Deadline::after(late_arrival);
  for (;;) {
    auto swept = co_await sweep(control, wanted, kept, deadline);
    const bool may_still_come = arrival == Reaper::Arrival::late && !latest_arrival.passed();
    if (swept && (*swept > 0 || !may_still_come)) co_return Status{};
    if (!swept && deadline.passed()) co_return fail(std::move(swept).error());
    co_await pause_for(between_tries);
  }
}

}  // namespace

struct Reaper::Left {
  UnremovedList unremoved;
  bool is_worked_on = false;
};

namespace {

void note(Reaper::Left& left, const std::string& sandbox, const std::string& why) {
  const auto known = left.unremoved.all();
  const bool is_known = std::ranges::find(known, sandbox, &Unremoved::sandbox) != known.end();
  if (!is_known && known.size() >= most_left) {
    log::error("e2b: cannot remove sandbox {}; E2B ends it when its life is over: {}", sandbox, why);
    return;
  }
  if (!is_known) log::warn("e2b: cannot remove sandbox {}; retrying: {}", sandbox, why);
  left.unremoved.failed(sandbox, why, Deadline::Clock::now());
}

Task<> sweep_or_remember(std::shared_ptr<Control> control, std::shared_ptr<Reaper::Left> left, Metadata wanted,
                         std::string sandbox, std::string kept, Reaper::Arrival arrival) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto work = [&] { return sweep_for_a_while(control, wanted, kept, arrival); };
  auto swept = co_await attempted("e2b: remove sandbox " + sandbox, std::move(work));
  if (!swept) note(*left, sandbox, swept.error().message);
}

}  // namespace

Task<Status> remove_for_good(std::shared_ptr<Control> control, std::string remote_id, Deadline deadline) {
  for (;;) {
    auto removed = co_await control->remove(remote_id, deadline);
    auto found = co_await control->detail(remote_id, deadline);
    if (!found && found.error().code == ErrorCode::not_found) co_return Status{};
    if (deadline.passed() || (!found && found.error().code == ErrorCode::permission_denied)) {
      Error why = !removed ? std::move(removed).error() : Error{ErrorCode::timeout, "it still exists"};
      co_return fail(std::move(why).at("remove sandbox " + remote_id + " of E2B"));
    }
    // It is being removed, or the service does not answer. Either may pass.
    const auto pause = std::min<Deadline::Clock::duration>(between_tries, deadline.left());
    co_await pause_for(pause);
  }
}

Reaper::Reaper(Executor executor, std::shared_ptr<Control> control, InstanceId instance)
    : control_(std::move(control)),
      instance_(std::move(instance)),
      left_(std::make_shared<Left>()),
      tasks_(std::move(executor)) {}

void Reaper::remove(std::string sandbox, Arrival arrival, std::string kept) {
  std::string name = "remove sandbox " + sandbox;
  Metadata wanted = metadata::of_sandbox(instance_, sandbox);
  tasks_.spawn(std::move(name), [control = control_, left = left_, wanted = std::move(wanted),
                                 sandbox = std::move(sandbox), kept = std::move(kept),
                                 arrival] { return sweep_or_remember(control, left, wanted, sandbox, kept, arrival); });
}

Task<Status> Reaper::remove_now(std::string sandbox, Deadline deadline) {
  Metadata wanted = metadata::of_sandbox(instance_, sandbox);
  CLOCHE_CO_CHECK(co_await sweep(control_, std::move(wanted), std::string(), deadline));
  co_return Status{};
}

void Reaper::remember(const std::string& sandbox, const std::string& why) { note(*left_, sandbox, why); }

std::vector<Unremoved> Reaper::unremoved() const { return left_->unremoved.all(); }

Task<> Reaper::retry() {
  const auto left = left_;
  const auto due = left->unremoved.due(Deadline::Clock::now());
  if (due.empty() || std::exchange(left->is_worked_on, true)) co_return;
  struct Working {
    Left& left;
    ~Working() { left.is_worked_on = false; }
  } const working{*left};
  // One that resists must not cost the others.
  for (const std::string& sandbox : due) {
    auto work = [this, sandbox] { return remove_now(sandbox, Deadline::after(time_to_retry)); };
    auto removed = co_await attempted("e2b: remove sandbox " + sandbox, std::move(work));
    if (removed) {
      left->unremoved.removed(sandbox);
    } else {
      left->unremoved.failed(sandbox, removed.error().message, Deadline::Clock::now());
    }
  }
}

Cleanup::Cleanup(std::shared_ptr<Reaper> reaper, std::string sandbox)
    : reaper_(std::move(reaper)), sandbox_(std::move(sandbox)) {}

Cleanup::~Cleanup() {
  if (armed_) reaper_->remove(sandbox_, has_answered ? Reaper::Arrival::certain : Reaper::Arrival::late);
}

Task<> Cleanup::run() {
  // Without a response there is nothing that is certain to arrive.
  if (!has_answered) co_return;
  auto work = [reaper = reaper_, sandbox = sandbox_] {
    return reaper->remove_now(sandbox, Deadline::after(time_in_passing));
  };
  auto removed = co_await shielded(std::move(work));
  if (removed) armed_ = false;
}

}  // namespace cloche::e2b
