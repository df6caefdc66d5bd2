#include "backend/kubernetes/pod/pod_watch.hpp"

#include <charconv>
#include <map>
#include <set>

#include "backend/kubernetes/api/status.hpp"
#include "core/async/event.hpp"
#include "core/async/guarded.hpp"
#include "core/log.hpp"

namespace cloche::kubernetes {

namespace {

using namespace std::chrono_literals;

constexpr auto time_to_open = 30s;
// A server sends a bookmark every minute.
constexpr auto longest_quiet = 150s;
constexpr auto first_pause_of_watch = 100ms;
constexpr auto longest_pause_of_watch = 5s;
// A watch may lag or be cut: a waiter looks by itself now and then.
constexpr auto between_looks = 5s;
constexpr std::size_t longest_line = 4 << 20;

// Versions of one resource are numbers that grow; the API asks not to rely on it, so this only decides between two
// states of a pod that came by different ways.
std::uint64_t number_of(const std::string& version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

}  // namespace

Result<WatchEvent> read_watch_event(std::string_view line) {
  const auto said = json::parse(line);
  if (!said) return fail(ErrorCode::protocol, "invalid response: a watch is not JSON lines");
  const json::value* object = json::find(*said, "object");
  if (object == nullptr) return fail(ErrorCode::protocol, "invalid response: an event without an object");
  const std::string type = json::text(json::find(*said, "type"));
  WatchEvent event;
  event.resource_version = json::text(json::find(*object, "metadata", "resourceVersion"));
  if (type == "ERROR") {
    if (json::number(json::find(*object, "code")) != 410) return fail(error_of("watch pods", *object));
    event.kind = WatchEvent::Kind::expired;
    return event;
  }
  if (type == "BOOKMARK") {
    event.kind = WatchEvent::Kind::bookmark;
    return event;
  }
  if (type != "ADDED" && type != "MODIFIED" && type != "DELETED") return event;
  event.kind = type == "DELETED" ? WatchEvent::Kind::deleted : WatchEvent::Kind::changed;
  CLOCHE_TRY(event.pod, read_pod(*object));
  return event;
}

struct PodWatch::State {
  State(Executor executor, std::shared_ptr<Api> used, std::string selector)
      : api(std::move(used)), query(std::move(selector)), changed(executor) {}

  std::shared_ptr<Api> api;
  std::string query;
  std::map<std::string, std::shared_ptr<const Pod>> pods;
  Event changed;

  void put(const Pod& pod) {
    auto& at = pods[pod.name];
    const bool is_older = at && at->uid == pod.uid && number_of(at->resource_version) > number_of(pod.resource_version);
    if (!is_older) at = std::make_shared<const Pod>(pod);
    changed.notify();
  }
  void drop(const Pod& pod) {
    const auto found = pods.find(pod.name);
    if (found != pods.end() && found->second->uid == pod.uid) pods.erase(found);
    changed.notify();
  }
};

namespace {

using State = PodWatch::State;

// The version to watch from.
Task<Result<std::string>> list_all(const std::shared_ptr<State>& state) {
  const std::string path = state->api->pods();
  const std::set<std::string> before = [&] {
    std::set<std::string> names;
    for (const auto& [name, pod] : state->pods) names.insert(name);
    return names;
  }();
  CLOCHE_CO_TRY(const Listed listed, co_await state->api->list(path, state->query, Deadline::after(time_to_open)));
  std::set<std::string> found;
  for (const json::value& item : listed.items) {
    const auto pod = read_pod(item);
    if (!pod) continue;
    found.insert(pod->name);
    state->put(*pod);
  }
  // What was learned while the list was on its way may be newer than the list.
  for (const std::string& name : before) {
    if (!found.contains(name)) state->pods.erase(name);
  }
  state->changed.notify();
  co_return listed.resource_version;
}

// Until the stream ends. `version` is where to continue; empty: list again.
Task<Status> follow(const std::shared_ptr<State>& state, std::string& version) {
  const std::string path = state->api->pods();
  CLOCHE_CO_TRY(const Api::Watching watching,
                co_await state->api->watch(path, state->query, version, Deadline::after(time_to_open)));
  if (watching.is_expired) {
    version.clear();
    co_return Status{};
  }
  std::string unread;
  for (;;) {
    CLOCHE_CO_TRY(const std::string piece, co_await watching.events->next(Deadline::after(longest_quiet)));
    if (piece.empty()) co_return Status{};
    unread += piece;
    std::size_t from = 0;
    for (std::size_t end = 0; (end = unread.find('\n', from)) != std::string::npos; from = end + 1) {
      CLOCHE_CO_TRY(const WatchEvent event, read_watch_event(std::string_view(unread).substr(from, end - from)));
      if (event.kind == WatchEvent::Kind::expired) {
        version.clear();
        co_return Status{};
      }
      if (event.kind == WatchEvent::Kind::changed) state->put(event.pod);
      if (event.kind == WatchEvent::Kind::deleted) state->drop(event.pod);
      if (!event.resource_version.empty()) version = event.resource_version;
    }
    unread.erase(0, from);
    if (unread.size() > longest_line) co_return fail(ErrorCode::protocol, "invalid response: an event is too long");
  }
}

// Uses nothing of the watch itself, which may be gone.
Task<> keep_current(std::shared_ptr<State> state) {
  std::string version;
  Deadline::Clock::duration pause = first_pause_of_watch;
  bool is_failing = false;
  for (;;) {
    auto turn = [&state, &version]() -> Task<Status> {
      if (version.empty()) {
        CLOCHE_CO_TRY(version, co_await list_all(state));
      }
      co_return co_await follow(state, version);
    };
    auto done = co_await guarded("kubernetes: watch pods", std::move(turn));
    if (done) {
      pause = first_pause_of_watch;
      if (is_failing) log::info("kubernetes: watching pods again");
      is_failing = false;
      continue;
    }
    if (!is_failing) log::warn("kubernetes: cannot watch pods, retrying: {}", done.error().message);
    is_failing = true;
    // An error of the server may be about the version.
    if (done.error().code != ErrorCode::unavailable && done.error().code != ErrorCode::timeout) version.clear();
    co_await pause_for(pause);
    pause = std::min<Deadline::Clock::duration>(pause * 2, longest_pause_of_watch);
  }
}

}  // namespace

PodWatch::PodWatch(Executor executor, std::shared_ptr<Api> api, std::string query)
    : executor_(executor), state_(std::make_shared<State>(executor, std::move(api), std::move(query))) {}

void PodWatch::start() {
  tasks_ = std::make_unique<TaskGroup>(executor_);
  tasks_->spawn("watch pods", [state = state_] { return keep_current(state); });
}

void PodWatch::stop() {
  tasks_.reset();
  // From now on this would only grow old.
  state_->pods.clear();
}

std::shared_ptr<const Pod> PodWatch::known(const std::string& name) const {
  const auto found = state_->pods.find(name);
  return found == state_->pods.end() ? nullptr : found->second;
}

void PodWatch::note(const Pod& pod) {
  if (waiters_ > 0) state_->put(pod);
}

Task<Result<Pod>> PodWatch::ask(std::string name, Deadline deadline) {
  std::string path = state_->api->pods(name);
  CLOCHE_CO_TRY(const json::value object, co_await state_->api->get(std::move(path), deadline));
  co_return read_pod(object);
}

Task<Result<Pod>> PodWatch::wait(std::string name, std::function<bool(const Pod&)> is_wanted, Deadline deadline,
                                 Pod* last) {
  const auto state = state_;
  std::optional<Waiter> waiter;
  for (;;) {
    auto known_pod = known(name);
    const Deadline look = Deadline::after(between_looks);
    if (!known_pod) {
      auto asked = co_await ask(name, deadline);
      if (!asked) co_return fail(std::move(asked).error());
      known_pod = std::make_shared<const Pod>(std::move(*asked));
    }
    if (last != nullptr) *last = *known_pod;
    if (is_wanted(*known_pod)) co_return *known_pod;
    if (deadline.passed()) co_return fail(ErrorCode::timeout, "pod " + name + " is not as it should be in time");
    if (!waiter) {
      waiter.emplace(*this);
      state->put(*known_pod);
      continue;
    }
    co_await state->changed.wait(look.sooner(deadline));
    // The watch may lag.
    if (look.passed()) state->pods.erase(name);
  }
}

Task<Status> PodWatch::wait_until_gone(std::string name, std::string uid, Deadline deadline) {
  const auto state = state_;
  std::optional<Waiter> waiter;
  for (;;) {
    // A list that is older than the pod does not have it either: only the server knows.
    auto asked = co_await ask(name, deadline);
    if (!asked && asked.error().code != ErrorCode::not_found) co_return fail(std::move(asked).error());
    if (!asked || asked->uid != uid) {
      state->pods.erase(name);
      co_return Status{};
    }
    if (deadline.passed()) co_return fail(ErrorCode::timeout, "pod " + name + " still exists");
    if (!waiter) waiter.emplace(*this);
    state->put(*asked);
    const Deadline look = Deadline::after(between_looks).sooner(deadline);
    for (auto left = known(name); left && left->uid == uid && !look.passed(); left = known(name))
      co_await state->changed.wait(look);
  }
}

}  // namespace cloche::kubernetes
