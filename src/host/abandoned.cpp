#include "host/abandoned.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <map>
#include <optional>
#include <set>

#include "host/backends.hpp"
#include "host/identity_file.hpp"
#include "host/instance_dir.hpp"
#include "host/owner_registry.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche {

namespace {

constexpr std::chrono::seconds look_patience{30};
constexpr std::chrono::seconds removal_patience{60};

// Calls a backend that acts for the owner, and waits for the answer.
template <class T, class Call>
Result<T> ask_backend(const EngineOptions& options, const std::string& owner, Call call) {
  asio::io_context io{1};
  asio::thread_pool threads{1};
  InstanceId id;
  id.value = owner;
  CLOCHE_TRY(const auto backend, make_searching_backend(io.get_executor(), threads, options, id));
  std::optional<Result<T>> answer;
  asio::co_spawn(
      io,
      [&]() -> Task<> {
        auto got = co_await call(*backend);
        answer = std::move(got);
      },
      asio::detached);
  io.run();
  threads.join();
  if (!answer) return fail(ErrorCode::internal, "the backend did not respond");
  return std::move(*answer);
}

Result<std::vector<Belonging>> belongings_of_all(const EngineOptions& options) {
  // Nothing is made: any name does.
  return ask_backend<std::vector<Belonging>>(
      options, "doctor", [](Backend& backend) { return backend.belongings(Deadline::after(look_patience)); });
}

using Found = std::map<std::string, Leftovers>;

void add(Found& found, std::vector<Belonging> things, const std::string& run_dir) {
  for (Belonging& thing : things) {
    Leftovers& of = found[thing.owner];
    of.owner = thing.owner;
    if (of.name.empty()) of.name = thing.owner_name;
    if (of.place.empty()) of.place = thing.place;
    if (thing.kind == "directory" && std::ranges::find(of.run_dirs, run_dir) == of.run_dirs.end())
      of.run_dirs.push_back(run_dir);
    const auto same = [&](const Belonging& other) { return other.kind == thing.kind && other.name == thing.name; };
    if (std::ranges::none_of(of.things, same)) of.things.push_back(std::move(thing));
  }
}

void add_registration(Found& found, const OwnerRegistry& registry, const OwnerEntry& entry) {
  Leftovers& of = found[entry.id];
  of.owner = entry.id;
  of.name = entry.name;
  if (!entry.state.empty()) of.place = entry.state;
  if (!entry.run_dir.empty() && std::ranges::find(of.run_dirs, entry.run_dir) == of.run_dirs.end())
    of.run_dirs.push_back(entry.run_dir);
  of.things.push_back({entry.id, "registration", registry.directory() + "/" + entry.id});
}

bool is_alive(const OwnerRegistry& registry, const Leftovers& of) {
  if (registry.is_alive(of.owner)) return true;
  // Its state directory may be shared with another container, whose registry is not this one.
  return !of.place.empty() && identity_in(of.place) == of.owner && is_instance_held(of.place);
}

Leftovers::State state_of(const Leftovers& of, bool is_registered) {
  if (identity_in(of.place) == of.owner) return Leftovers::State::stopped;
  return is_registered ? Leftovers::State::abandoned : Leftovers::State::unknown;
}

}  // namespace

Result<std::vector<Leftovers>> find_leftovers(const EngineOptions& options) {
  const OwnerRegistry registry = OwnerRegistry::of_host(options);
  CLOCHE_TRY(auto entries, registry.entries());
  std::erase_if(entries, [&](const OwnerEntry& entry) {
    // Nothing is known here about another engine.
    return entry.backend != backend_of(options) || entry.engine != engine_of(options);
  });
  std::set<std::string> run_dirs{options.run_dir};
  if (traits_of(options.backend).uses_run_dir) {
    for (const OwnerEntry& entry : entries) run_dirs.insert(entry.run_dir);
  }
  Found found;
  for (const std::string& run_dir : run_dirs) {
    EngineOptions place = options;
    place.run_dir = run_dir;
    CLOCHE_TRY(auto things, belongings_of_all(place));
    add(found, std::move(things), run_dir);
  }
  std::set<std::string> registered;
  for (const OwnerEntry& entry : entries) {
    registered.insert(entry.id);
    add_registration(found, registry, entry);
  }
  std::vector<Leftovers> all;
  for (auto& [id, of] : found) {
    // Asked last: one that has started meanwhile is seen to be alive.
    if (is_alive(registry, of)) continue;
    of.backend = backend_of(options);
    of.state = state_of(of, registered.contains(id));
    const bool keeps_nothing =
        of.state == Leftovers::State::stopped && of.things.size() == 1 && registered.contains(id);
    if (!keeps_nothing) all.push_back(std::move(of));
  }
  return all;
}

Status remove_leftovers(const EngineOptions& options, const Leftovers& leftovers) {
  const OwnerRegistry registry = OwnerRegistry::of_host(options);
  if (is_alive(registry, leftovers))
    return fail(ErrorCode::already_exists, "owner " + leftovers.owner + " is still running");
  // Locked during the removal: no process can start with this id.
  OwnerEntry entry = registry.find(leftovers.owner).value_or(OwnerEntry{});
  entry.id = leftovers.owner;
  if (entry.backend.empty()) entry.backend = backend_of(options);
  if (entry.run_dir.empty()) entry.run_dir = options.run_dir;
  CLOCHE_TRY(OwnerLock lock, registry.hold(std::move(entry)));
  std::set<std::string> run_dirs{options.run_dir};
  if (traits_of(options.backend).uses_run_dir) run_dirs.insert(leftovers.run_dirs.begin(), leftovers.run_dirs.end());
  for (const std::string& run_dir : run_dirs) {
    EngineOptions place = options;
    place.run_dir = run_dir;
    auto removed = ask_backend<void>(place, leftovers.owner, [](Backend& backend) {
      return backend.remove_belongings(Deadline::after(removal_patience));
    });
    if (!removed) return removed;
  }
  lock.release();
  return {};
}

}  // namespace cloche
