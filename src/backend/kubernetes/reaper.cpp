#include "backend/kubernetes/reaper.hpp"

#include <algorithm>
#include <utility>

#include "backend/kubernetes/pod/marks.hpp"
#include "core/async/event.hpp"
#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/log.hpp"

namespace cloche::kubernetes {

namespace {

using namespace std::chrono_literals;

constexpr auto time_in_passing = 15s;
constexpr auto time_to_retry = 5s;
constexpr auto time_in_background = 60s;
// How long a request may be on its way after this process has stopped waiting for it.
constexpr auto late_arrival = 20s;
constexpr auto between_tries = 500ms;
constexpr std::size_t most_left = 4096;

// Whether there was one.
Task<Result<bool>> remove_by_id(const Removal& removal, std::string sandbox, Deadline deadline) {
  const std::string name = marks::pod_name(removal.instance, sandbox);
  std::string path = removal.api->pods(name);
  auto object = co_await removal.api->get(std::move(path), deadline);
  if (!object && object.error().code == ErrorCode::not_found) co_return false;
  if (!object) co_return fail(std::move(object).error());
  CLOCHE_CO_TRY(const Pod pod, read_pod(*object));
  // The name alone proves nothing.
  const bool is_ours = marks::value_of(pod.labels, marks::owner) == removal.instance.value &&
                       marks::value_of(pod.labels, marks::sandbox) == sandbox;
  if (!is_ours) co_return false;
  CLOCHE_CO_CHECK(co_await remove_pod(removal, name, pod.uid, deadline));
  co_return true;
}

Task<Status> remove_for_a_while(Removal removal, std::string sandbox, Reaper::Arrival arrival) {
  const Deadline deadline = Deadline::after(time_in_background);
  const Deadline latest_arrival = Deadline::after(late_arrival);
  for (;;) {
    auto removed = co_await remove_by_id(removal, sandbox, deadline);
    const bool may_still_come = arrival == Reaper::Arrival::late && !latest_arrival.passed();
    if (removed && (*removed || !may_still_come)) co_return Status{};
    if (!removed && deadline.passed()) co_return fail(std::move(removed).error());
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
    log::error("kubernetes: cannot remove sandbox {}, nor note it; the next start removes it: {}", sandbox, why);
    return;
  }
  if (!is_known) log::warn("kubernetes: cannot remove sandbox {}; retrying: {}", sandbox, why);
  left.unremoved.failed(sandbox, why, Deadline::Clock::now());
}

Task<> remove_or_remember(Removal removal, std::shared_ptr<Reaper::Left> left, std::string sandbox,
                          Reaper::Arrival arrival) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto work = [&] { return remove_for_a_while(removal, sandbox, arrival); };
  auto removed = co_await attempted("kubernetes: remove sandbox " + sandbox, std::move(work));
  if (!removed) note(*left, sandbox, removed.error().message);
}

}  // namespace

Task<Status> remove_pod(const Removal& removal, std::string name, std::string uid, Deadline deadline) {
  std::string path = removal.api->pods(name);
  auto removed = co_await removal.api->remove(std::move(path), uid, deadline);
  if (!removed) co_return fail(std::move(removed).error().at("remove pod " + name));
  co_return co_await removal.watch->wait_until_gone(name, uid, deadline);
}

Reaper::Reaper(Executor executor, Removal removal)
    : removal_(std::move(removal)), left_(std::make_shared<Left>()), tasks_(std::move(executor)) {}

void Reaper::remove(std::string sandbox, Arrival arrival) {
  std::string name = "remove sandbox " + sandbox;
  tasks_.spawn(std::move(name), [removal = removal_, left = left_, sandbox = std::move(sandbox), arrival] {
    return remove_or_remember(removal, left, sandbox, arrival);
  });
}

Task<Status> Reaper::remove_now(std::string sandbox, Deadline deadline) {
  CLOCHE_CO_CHECK(co_await remove_by_id(removal_, std::move(sandbox), deadline));
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
    auto removed = co_await attempted("kubernetes: remove sandbox " + sandbox, std::move(work));
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
  if (!armed_ || !is_needed) return;
  reaper_->remove(sandbox_, may_come_late ? Reaper::Arrival::late : Reaper::Arrival::certain);
}

Task<> Cleanup::run() {
  if (!is_needed || may_come_late) co_return;
  auto work = [reaper = reaper_, sandbox = sandbox_] {
    return reaper->remove_now(sandbox, Deadline::after(time_in_passing));
  };
  auto removed = co_await shielded(std::move(work));
  if (removed) armed_ = false;
}

}  // namespace cloche::kubernetes
