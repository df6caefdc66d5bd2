#include "core/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include "core/log.hpp"
#include "core/shielded.hpp"

namespace cloche {

struct TaskGroup::State {
  struct Member {
    asio::cancellation_signal signal;
    std::function<Task<>()> start;
    std::string name;
  };

  explicit State(Executor e) : executor(e), ended(e) {}

  Executor executor;
  std::list<Member> members;
  Event ended;
};

namespace {

bool is_cancellation(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& e) {
    return e.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
}

}  // namespace

TaskGroup::TaskGroup(Executor executor) : state_(std::make_shared<State>(std::move(executor))) {}

TaskGroup::~TaskGroup() { cancel(); }

void TaskGroup::spawn(std::string name, std::function<Task<>()> start) {
  auto& members = state_->members;
  const auto member = members.emplace(members.end());
  member->start = std::move(start);
  member->name = std::move(name);
  asio::co_spawn(
      state_->executor, [state = state_, member]() -> Task<> { co_await member->start(); },
      asio::bind_cancellation_slot(member->signal.slot(), [state = state_, member](std::exception_ptr error) {
        if (error && !is_cancellation(error)) {
          log::error("task '{}' ended by an exception: {}", member->name, describe(error));
        }
        state->members.erase(member);
        state->ended.notify();
      }));
}

void TaskGroup::cancel() {
  // A cancelled task may run at once and leave the list; emit from a copy of the positions.
  std::vector<asio::cancellation_signal*> signals;
  for (auto& member : state_->members) signals.push_back(&member.signal);
  for (auto* signal : signals) {
    asio::post(state_->executor, [state = state_, signal] {
      for (auto& member : state->members) {
        if (&member.signal == signal) {
          signal->emit(asio::cancellation_type::all);
          return;
        }
      }
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
