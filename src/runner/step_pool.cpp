#include "runner/step_pool.hpp"

#include <fmt/format.h>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "sandbox/limits.hpp"

namespace cloche::runner {

namespace {

constexpr std::size_t piece = 256 << 10;
// For callers that wait although the pool is set to fail.
constexpr std::chrono::seconds turn_timeout{120};

// Where memory is the image's, what a language would have is left out; what was asked for has been refused before.
LimitOverrides overrides_of(const StepLimits& limits, const Limits& of_profile) {
  LimitOverrides overrides;
  if (!are_of_image(of_profile)) overrides.memory = limits.memory;
  overrides.pids = limits.pids;
  overrides.file_size = limits.file_size;
  return overrides;
}

}  // namespace

Result<StepPool> StepPool::find(pool::Manager& manager, const Language& language, std::string tenant) {
  StepPool place;
  place.manager = &manager;
  place.tenant = std::move(tenant);
  for (const std::string& name : {language.name, language.profile}) {
    if (auto pool = manager.find_for(place.tenant, name)) {
      place.profile = (*pool)->profile().name;
      const bool sets_memory = language.run_limits_set.memory || language.compile_limits_set.memory;
      if (sets_memory && are_of_image((*pool)->profile().sandbox.limits)) {
        return fail(ErrorCode::unsupported, "the configuration sets a memory limit for " + language.title +
                                                ", but sandboxes of profile '" + place.profile +
                                                "' have the memory of their template");
      }
      return place;
    }
  }
  auto none = manager.find_for(place.tenant, language.profile);
  return fail(ErrorCode::not_found, language.title + " has no sandbox to run in: " + none.error().message);
}

const Profile& StepPool::options() const { return (*manager->find(profile))->profile(); }

Status StepPool::check_asked(const StepLimits& asked) const {
  if (asked.memory && are_of_image(options().sandbox.limits)) {
    return fail(ErrorCode::invalid_argument, "a memory limit cannot be set for profile '" + profile +
                                                 "': its sandboxes have the memory of their template");
  }
  const LimitOverrides& set = options().limits_set;
  const auto beyond = [&](const char* name, const auto& value, const auto& most) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("the requested {} limit of {} is too high; profile '{}' allows {}", name, value, profile, most));
  };
  if (asked.memory && set.memory && *asked.memory > *set.memory) {
    return beyond("memory", to_string(*asked.memory), to_string(*set.memory));
  }
  if (asked.pids && set.pids && *asked.pids > *set.pids) return beyond("pids", *asked.pids, *set.pids);
  if (asked.file_size && set.file_size && *asked.file_size > *set.file_size) {
    return beyond("file_size", to_string(*asked.file_size), to_string(*set.file_size));
  }
  return {};
}

Status StepPool::validate(const StepLimits& limits) const {
  const auto wall = limits.wall.value_or(default_wall);
  const auto most = options().pool.running_timeout;
  if (wall < most) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("a time limit of {} ms is longer than the running_timeout of profile '{}' ({} ms)",
                          wall.count(), profile, most.count()));
}

Task<Result<pool::Lease>> StepPool::claim(StepLimits limits, Patience patience, Deadline deadline) const {
  ClaimOptions options;
  options.tenant = tenant;
  options.limits = overrides_of(limits, this->options().sandbox.limits);
  options.network = network;
  if (patience == Patience::wait) {
    options.at_limit = AtLimit::wait;
    options.wait_timeout = turn_timeout;
  }
  auto lease = co_await manager->acquire(profile, std::move(options), deadline);
  co_return lease;
}

Task<Status> write_tree(pool::Lease& lease, const FileTree& files, Deadline deadline) {
  auto there = lease->files();
  for (const auto& [path, content] : files) {
    FilePath place = lease.place(path);
    std::string bytes = content;
    WriteOptions how;
    how.read_only = WriteOptions::ReadOnly::replace;
    auto written = co_await there.write(std::move(place), std::move(bytes), how, deadline);
    if (!written) co_return fail(std::move(written).error().at("write " + path));
  }
  co_return Status{};
}

ExecSpec to_spec(StepRun run) {
  ExecSpec spec;
  spec.argv = std::move(run.argv);
  spec.env = std::move(run.env);
  spec.zygote = std::move(run.zygote);
  spec.wall_limit = run.limits.wall.value_or(default_wall);
  spec.cpu_limit = run.limits.cpu;
  spec.keep_output = run.limits.output.value_or(default_output);
  spec.stop_output = spec.keep_output;
  return spec;
}

Deadline guard_of(const StepLimits& limits, Deadline deadline) {
  return deadline.sooner(Deadline::after(limits.wall.value_or(default_wall) + beyond_limit));
}

Task<Result<Exec::Collected>> run_step(pool::Lease& lease, StepRun run, const ExecObserver& observer,
                                       Deadline deadline) {
  const Deadline guard = guard_of(run.limits, deadline);
  std::string_view input = run.input;
  ExecSpec spec = to_spec(std::move(run));
  if (!input.empty()) spec.stdin_mode = Stdin::stream;
  auto started = co_await lease.start(std::move(spec), guard);
  if (!started) co_return fail(std::move(started).error());
  const auto exec = std::move(*started);
  const ExecObserverScope observed(observer, *exec);
  if (input.empty()) {
    auto collected = co_await exec->collect(guard);
    co_return collected;
  }
  using asio::experimental::awaitable_operators::operator&&;
  const auto feed = [&]() -> Task<> {
    // A program need not read its input to the end.
    for (bool wanted = true; wanted && !input.empty(); input.remove_prefix(std::min(piece, input.size()))) {
      std::string next(input.substr(0, piece));
      auto sent = co_await exec->write_stdin(std::move(next), guard);
      wanted = sent.has_value();
    }
    exec->close_stdin();
  };
  auto collected = co_await (exec->collect(guard) && feed());
  co_return collected;
}

}  // namespace cloche::runner
