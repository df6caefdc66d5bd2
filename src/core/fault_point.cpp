#include "core/fault_point.hpp"

#ifdef CLOCHE_FAULT_POINTS

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>

namespace cloche::faults {

namespace {

enum class Action { kill, throw_error, throw_bad_alloc, fail, delay, hang };

constexpr std::pair<std::string_view, Action> actions[] = {
    {"kill", Action::kill}, {"throw", Action::throw_error}, {"bad_alloc", Action::throw_bad_alloc},
    {"fail", Action::fail}, {"delay", Action::delay},       {"hang", Action::hang}};

constexpr std::chrono::seconds delay{1};

struct Fault {
  std::string name;
  std::size_t first = 1;
  bool goes_on = false;
  Action action = Action::kill;
};

Result<Fault> parse_fault(std::string_view text) {
  const auto wrong = [&](const char* why) {
    return cloche::fail(ErrorCode::invalid_argument, "fault '" + std::string(text) + "': " + why);
  };
  Fault fault;
  const auto equals = text.find('=');
  std::string_view where = text.substr(0, equals);
  if (equals != std::string_view::npos) {
    const auto* found =
        std::ranges::find(actions, text.substr(equals + 1), &std::pair<std::string_view, Action>::first);
    if (found == std::end(actions)) return wrong("unknown action");
    fault.action = found->second;
  }
  if (const auto colon = where.find(':'); colon != std::string_view::npos) {
    std::string_view pass = where.substr(colon + 1);
    fault.goes_on = pass.ends_with('+');
    if (fault.goes_on) pass.remove_suffix(1);
    const auto [end, error] = std::from_chars(pass.data(), pass.data() + pass.size(), fault.first);
    if (error != std::errc() || end != pass.data() + pass.size() || fault.first == 0) return wrong("invalid pass");
    where = where.substr(0, colon);
  }
  if (where.empty()) return wrong("no name");
  fault.name = where;
  return fault;
}

Result<std::vector<Fault>> parse_faults(std::string_view setting) {
  std::vector<Fault> faults;
  while (!setting.empty()) {
    const auto comma = std::min(setting.find(','), setting.size());
    CLOCHE_TRY(Fault fault, parse_fault(setting.substr(0, comma)));
    faults.push_back(std::move(fault));
    setting.remove_prefix(std::min(comma + 1, setting.size()));
  }
  return faults;
}

// Passed by all threads.
class Table {
 public:
  Table() {
    const char* setting = std::getenv("CLOCHE_FAULT");
    if (setting == nullptr) return;
    auto parsed = parse_faults(setting);
    if (!parsed) std::abort();  // a test that tests nothing must not pass
    faults_ = std::move(*parsed);
    counts_ = true;
  }

  void set(std::vector<Fault> faults) {
    const std::lock_guard lock(mutex_);
    faults_ = std::move(faults);
    passes_.clear();
    counts_ = true;
  }

  std::optional<Action> pass(std::string_view name) {
    if (!counts_.load(std::memory_order_relaxed)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const std::size_t pass = ++passes_[std::string(name)];
    for (const Fault& fault : faults_) {
      if (fault.name == name && (pass == fault.first || (fault.goes_on && pass > fault.first))) return fault.action;
    }
    return std::nullopt;
  }

  std::size_t passes(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto found = passes_.find(name);
    return found == passes_.end() ? 0 : found->second;
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> counts_ = false;
  std::vector<Fault> faults_;
  std::map<std::string, std::size_t, std::less<>> passes_;
};

Table& table() {
  static Table only;
  return only;
}

std::map<std::string_view, Kind>& registered() {
  static std::map<std::string_view, Kind> all;
  return all;
}

void happen(std::string_view name, Action action) {
  const std::string why = "fault at " + std::string(name);
  switch (action) {
    case Action::kill: ::kill(::getpid(), SIGKILL); break;
    case Action::throw_error: throw std::runtime_error(why);
    case Action::throw_bad_alloc: throw std::bad_alloc();
    case Action::delay: std::this_thread::sleep_for(delay); break;
    case Action::fail:
    case Action::hang: break;
  }
}

}  // namespace

std::vector<Point> all() {
  std::vector<Point> points;
  for (const auto& [name, kind] : registered()) points.push_back({name, kind});
  return points;
}

std::size_t passes(std::string_view name) { return table().passes(name); }

Status set_faults(std::string_view setting) {
  CLOCHE_TRY(auto faults, parse_faults(setting));
  table().set(std::move(faults));
  return {};
}

bool add(std::string_view name, Kind kind) { return registered().emplace(name, kind).second; }

void pass(std::string_view name) {
  if (const auto action = table().pass(name)) happen(name, *action);
}

Status pass_fallible(std::string_view name, Deadline deadline) {
  const auto action = table().pass(name);
  if (!action) return {};
  if (*action == Action::fail) return cloche::fail(ErrorCode::internal, "fault at " + std::string(name));
  if (*action == Action::hang) {
    std::this_thread::sleep_until(deadline.time());
    return cloche::fail(ErrorCode::timeout, "fault at " + std::string(name));
  }
  happen(name, *action);
  return {};
}

}  // namespace cloche::faults

#endif
