#include "backend/docker/reaper.hpp"

#include <map>
#include <utility>

#include "core/async/exceptions.hpp"
#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/log.hpp"

namespace cloche::docker {

namespace {

using namespace std::chrono_literals;

constexpr auto time_in_passing = 15s;
// For one whose removal has failed before.
constexpr auto time_to_retry = 5s;
constexpr auto time_in_background = 30s;
// An engine that is gone for longer is not waited for; what was to be removed is remembered.
constexpr auto absence_of_the_engine = 5s;
// More are left to `recover` of the next process.
constexpr std::size_t most_left = 4096;
// How long an engine may continue to create a container after we have stopped listening.
constexpr auto late_arrival = 10s;
constexpr auto between_tries = 100ms;
// The same for an earlier process. The end of this process waits for it, so it is no longer than a busy engine needs.
constexpr auto stray_arrival = 3s;
constexpr auto check_interval = 500ms;

// Removes all containers with the label and returns their number.
Task<Result<std::size_t>> sweep(std::shared_ptr<Engine> engine, std::string label, std::string value,
                                Deadline deadline) {
  LabelMap wanted;
  wanted[label] = value;
  CLOCHE_CO_TRY(const auto found, co_await list_containers(*engine, std::move(wanted), deadline));
  for (const auto& container : found) {
    CLOCHE_CO_CHECK(co_await remove_for_good(engine, container.id, deadline));
  }
  co_return found.size();
}

}  // namespace

// Those that could not be removed in time, until the engine responds again.
struct Reaper::Left {
  std::map<std::string, std::string> labels;  // by their values
  UnremovedList unremoved;                    // of the same values
  bool is_worked_on = false;
  bool is_ending = false;
};

namespace {

void give_up(const std::string& value, const std::string& why) {
  log::error("docker: cannot remove the container of {}; the next start removes it: {}", value, why);
}

Task<Status> sweep_for_a_while(std::shared_ptr<Engine> engine, std::string label, std::string value,
                               Reaper::Arrival arrival) {
  const Deadline deadline = Deadline::after(time_in_background);
  const Deadline latest_arrival = Deadline::after(late_arrival);
  const Deadline latest_return = Deadline::after(absence_of_the_engine);
  for (;;) {
    auto swept = co_await sweep(engine, label, value, deadline);
    const bool may_still_come = arrival == Reaper::Arrival::late && !latest_arrival.passed();
    if (swept && (*swept > 0 || !may_still_come)) co_return Status{};
    const bool gone = !swept && swept.error().code == ErrorCode::unavailable && latest_return.passed();
    if (!swept && (deadline.passed() || gone)) co_return fail(std::move(swept).error());
    co_await pause_for(between_tries);
  }
}

void note(Reaper::Left& left, const std::string& label, const std::string& value, const std::string& why) {
  if (left.is_ending || left.labels.size() >= most_left) {
    give_up(value, why);
    return;
  }
  log::warn("docker: cannot remove the container of {}; retrying: {}", value, why);
  left.labels[value] = label;
  left.unremoved.failed(value, why, Deadline::Clock::now());
}

Task<> sweep_or_remember(std::shared_ptr<Engine> engine, std::shared_ptr<Reaper::Left> left, std::string label,
                         std::string value, Reaper::Arrival arrival) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto work = [&] { return sweep_for_a_while(engine, label, value, arrival); };
  auto swept = co_await attempted("docker: remove the container of " + value, std::move(work));
  if (!swept) note(*left, label, value, swept.error().message);
}

// False when it could not be removed.
Task<bool> sweep_again(std::shared_ptr<Engine> engine, std::shared_ptr<Reaper::Left> left, std::string value,
                       Deadline deadline) {
  const auto found = left->labels.find(value);
  if (found == left->labels.end()) co_return true;
  auto work = [engine, label = found->second, value, deadline] { return sweep(engine, label, value, deadline); };
  auto swept = co_await attempted("docker: remove the container of " + value, std::move(work));
  if (!swept) {
    left->unremoved.failed(value, swept.error().message, Deadline::Clock::now());
    co_return false;
  }
  left->labels.erase(value);
  left->unremoved.removed(value);
  co_return true;
}

Task<> sweep_strays(std::shared_ptr<Engine> engine, LabelMap labels, Reaper::IsHeld is_held) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const Deadline latest = Deadline::after(stray_arrival);
  while (!latest.passed()) {
    co_await pause_for(check_interval);
    LabelMap wanted = labels;
    auto found = co_await list_containers(*engine, std::move(wanted), Deadline::after(time_in_passing));
    if (!found) continue;
    for (const ContainerSummary& container : *found) {
      if (container.state != "created" || is_held(container.labels)) continue;
      log::info("docker: removing container {}: its creator is gone", container.id.substr(0, 12));
      std::string id = container.id;
      auto removed = co_await remove_for_good(engine, std::move(id), Deadline::after(time_in_passing));
      if (!removed) log::info("docker: {}", removed.error().message);
    }
  }
}

Task<> sweep_remembered(std::shared_ptr<Engine> engine, std::shared_ptr<Reaper::Left> left,
                        std::vector<std::string> values, Deadline::Clock::duration timeout) {
  struct Working {
    Reaper::Left& left;
    ~Working() { left.is_worked_on = false; }
  } const working{*left};
  // One that resists must not cost the others.
  for (const std::string& value : values) co_await sweep_again(engine, left, value, Deadline::after(timeout));
}

Task<> sweep_remembered_uncancelled(std::shared_ptr<Engine> engine, std::shared_ptr<Reaper::Left> left,
                                    std::vector<std::string> values) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await sweep_remembered(std::move(engine), std::move(left), std::move(values), time_to_retry);
}

}  // namespace

Task<Status> remove_for_good(std::shared_ptr<Engine> engine, std::string container, Deadline deadline) {
  for (;;) {
    auto removed = co_await remove_container(*engine, container, deadline);
    auto found = co_await inspect_container(*engine, container, deadline);
    if (!found && found.error().code == ErrorCode::not_found) co_return Status{};
    if (deadline.passed()) {
      Error why = !removed ? std::move(removed).error() : Error{ErrorCode::timeout, "it still exists"};
      co_return fail(std::move(why).at("remove container " + container.substr(0, 12)));
    }
    // The engine is busy with it, or does not answer. Either may pass.
    const auto pause = std::min<Deadline::Clock::duration>(between_tries, deadline.left());
    co_await pause_for(pause);
  }
}

Reaper::Reaper(Executor executor, std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)), left_(std::make_shared<Left>()), tasks_(std::move(executor)) {}

Reaper::~Reaper() {
  left_->is_ending = true;
  for (const Unremoved& each : left_->unremoved.all()) give_up(each.sandbox, each.why);
}

void Reaper::remember(std::string label, std::string value, std::string why) { note(*left_, label, value, why); }

std::vector<Unremoved> Reaper::unremoved() const { return left_->unremoved.all(); }

Task<> Reaper::retry() {
  auto due = left_->unremoved.due(Deadline::Clock::now());
  if (due.empty() || std::exchange(left_->is_worked_on, true)) co_return;
  co_await sweep_remembered(engine_, left_, std::move(due), time_to_retry);
}

void Reaper::engine_answers() {
  if (left_->labels.empty() || std::exchange(left_->is_worked_on, true)) return;
  std::vector<std::string> all;
  for (const auto& [value, label] : left_->labels) all.push_back(value);
  tasks_.spawn("remove containers that were left", [engine = engine_, left = left_, all = std::move(all)] {
    return sweep_remembered_uncancelled(engine, left, all);
  });
}

void Reaper::remove_strays(LabelMap labels, IsHeld is_held) {
  tasks_.spawn("remove strays", [engine = engine_, labels = std::move(labels), is_held = std::move(is_held)] {
    return sweep_strays(engine, labels, is_held);
  });
}

void Reaper::remove_labelled(std::string label, std::string value, Arrival arrival) {
  std::string name = "remove the container of " + value;
  tasks_.spawn(std::move(name), [engine = engine_, left = left_, label = std::move(label), value = std::move(value),
                                 arrival] { return sweep_or_remember(engine, left, label, value, arrival); });
}

Cleanup::Cleanup(std::shared_ptr<Reaper> reaper, std::string label, std::string value)
    : reaper_(std::move(reaper)), label_(std::move(label)), value_(std::move(value)) {}

Cleanup::~Cleanup() {
  if (armed_) reaper_->remove_labelled(label_, value_, arrival_);
}

Task<> Cleanup::run() {
  // Without a response there is nothing that is certain to arrive.
  if (arrival_ == Reaper::Arrival::late) co_return;
  auto work = [engine = reaper_->engine(), label = label_, value = value_] {
    return sweep(engine, label, value, Deadline::after(time_in_passing));
  };
  auto swept = co_await shielded(std::move(work));
  if (swept) armed_ = false;
}

}  // namespace cloche::docker
