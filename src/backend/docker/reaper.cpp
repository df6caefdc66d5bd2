#include "backend/docker/reaper.hpp"

#include "core/shielded.hpp"
#include "core/log.hpp"

namespace cloche::docker {

namespace {

using namespace std::chrono_literals;

constexpr auto time_in_passing = 15s;
constexpr auto time_in_background = 30s;
// An engine that is gone takes a while to come back, if it does; whoever restarts it will call `recover`.
constexpr auto absence_of_the_engine = 5s;
// How long an engine may go on making a container after we have stopped listening.
constexpr auto late_arrival = 10s;
constexpr auto between_tries = 100ms;

// Removes all that bear the label, and says how many that were.
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

Task<> sweep_until_done(std::shared_ptr<Engine> engine, std::string label, std::string value, Reaper::Arrival arrival) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const Deadline deadline = Deadline::after(time_in_background);
  const Deadline latest_arrival = Deadline::after(late_arrival);
  const Deadline latest_return = Deadline::after(absence_of_the_engine);
  for (;;) {
    auto swept = co_await sweep(engine, label, value, deadline);
    const bool may_still_come = arrival == Reaper::Arrival::late && !latest_arrival.passed();
    if (swept && (*swept > 0 || !may_still_come)) co_return;
    const bool gone = !swept && swept.error().code == ErrorCode::unavailable && latest_return.passed();
    if (deadline.passed() || gone) {
      const std::string why = swept ? "" : swept.error().message;
      log::error("docker: the container of {} could not be removed, and is left to be found later: {}", value, why);
      co_return;
    }
    co_await pause_for(between_tries);
  }
}

}  // namespace

Task<Status> remove_for_good(std::shared_ptr<Engine> engine, std::string container, Deadline deadline) {
  for (;;) {
    auto removed = co_await remove_container(*engine, container, deadline);
    auto found = co_await inspect_container(*engine, container, deadline);
    if (!found && found.error().code == ErrorCode::not_found) co_return Status{};
    if (deadline.passed()) {
      Error why = !removed ? std::move(removed).error() : Error{ErrorCode::timeout, "it is still there"};
      co_return fail(std::move(why).at("remove container " + container.substr(0, 12)));
    }
    // The engine is busy with it, or does not answer. Either may pass.
    const auto pause = std::min<Deadline::Clock::duration>(between_tries, deadline.left());
    co_await pause_for(pause);
  }
}

void Reaper::remove_labelled(std::string label, std::string value, Arrival arrival) {
  std::string name = "remove the container of " + value;
  tasks_.spawn(std::move(name), [engine = engine_, label = std::move(label), value = std::move(value), arrival] {
    return sweep_until_done(engine, label, value, arrival);
  });
}

Cleanup::Cleanup(std::shared_ptr<Reaper> reaper, std::string label, std::string value)
    : reaper_(std::move(reaper)), label_(std::move(label)), value_(std::move(value)) {}

Cleanup::~Cleanup() {
  if (armed_) reaper_->remove_labelled(label_, value_, arrival_);
}

Task<> Cleanup::run() {
  // Without an answer there is nothing to wait for that would surely come.
  if (arrival_ == Reaper::Arrival::late) co_return;
  auto work = [engine = reaper_->engine(), label = label_, value = value_] {
    return sweep(engine, label, value, Deadline::after(time_in_passing));
  };
  auto swept = co_await shielded(std::move(work));
  if (swept) armed_ = false;
}

}  // namespace cloche::docker
