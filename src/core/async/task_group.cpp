#include "core/async/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <list>

#include "core/async/exceptions.hpp"
#include "core/async/shielded.hpp"
#include "core/log.hpp"

namespace cloche {

namespace {

struct Member {
  asio::cancellation_signal signal;
  std::function<Task<>()> start;
  std::string name;
  bool ended = false;
};

}  // namespace

struct TaskGroup::State {
  explicit State(Executor e) : executor(e), ended(e) {}

  Executor executor;
  std::list<std::shared_ptr<Member>> members;
  bool closed = false;
  Event ended;
};

TaskGroup::TaskGroup(Executor executor) : state_(std::make_shared<State>(std::move(executor))) {}

TaskGroup::~TaskGroup() { cancel(); }

bool TaskGroup::spawn(std::string name, std::function<Task<>()> start) {
  if (state_->closed) {
    log::debug("task '{}' is not started: its owner is shut down", name);
    return false;
  }
  auto member = std::make_shared<Member>();
  member->start = std::move(start);
  member->name = std::move(name);
  const auto place = state_->members.insert(state_->members.end(), member);
  asio::co_spawn(
      state_->executor, [state = state_, member]() -> Task<> { co_await member->start(); },
      asio::bind_cancellation_slot(member->signal.slot(), [state = state_, member, place](std::exception_ptr error) {
        if (error && !is_cancellation(error)) {
          log_internal_error("task '" + member->name + "' ended by an exception: " + describe(error));
        }
        member->ended = true;
        member->start = nullptr;
        state->members.erase(place);
        state->ended.notify();
      }));
  return true;
}

void TaskGroup::cancel() {
  state_->closed = true;
  // Later, because a cancelled task may run at once and end its owner. The copies keep each member apart from any that
  // might come to lie at the same address.
  for (const auto& member : state_->members) {
    asio::post(state_->executor, [member] {
      if (!member->ended) member->signal.emit(asio::cancellation_type::all);
    });
  }
}

Task<> TaskGroup::join() {
  const auto state = state_;
  while (!state->members.empty()) co_await state->ended.wait();
}

Task<> TaskGroup::shut_down() {
  cancel();
  auto work = [this] { return join(); };
  co_await shielded(std::move(work));
}

std::size_t TaskGroup::size() const { return state_->members.size(); }

}  // namespace cloche
