#include "backend/docker/enclosure.hpp"

#include "backend/docker/engine/container_calls.hpp"
#include "backend/docker/gpus.hpp"
#include "backend/docker/hardening.hpp"
#include "backend/docker/labels.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"

namespace cloche::docker {

namespace {

using namespace std::chrono_literals;

constexpr auto limits_time = 20s;
constexpr auto evidence_time = 10s;
// Between the end of a container's output and the engine's knowing how it died.
constexpr auto dying_time = 3s;
constexpr auto late_oom_time = 500ms;

bool same_resources(const Limits& a, const Limits& b) {
  return a.memory == b.memory && a.cpus == b.cpus && a.pids == b.pids;
}

// The engine's message, without the call that it belongs to.
std::string without_call(const std::string& message) {
  const auto end = message.find(": ");
  return end == std::string::npos ? message : message.substr(end + 2);
}

// 400 is about the limits themselves. A container that there is not, or that is on its way out, was a sandbox.
Error refusal_of_limits(Error error) {
  switch (error.code) {
    case ErrorCode::invalid_argument: return {error.code, "the engine refuses them: " + without_call(error.message)};
    case ErrorCode::not_found:
    case ErrorCode::already_exists: error.code = ErrorCode::sandbox_lost; return error;
    default: return as_trouble_of_engine(std::move(error));
  }
}

Error refusal_of_pause(Error error) {
  return error.code == ErrorCode::sandbox_lost ? error : as_trouble_of_engine(std::move(error));
}

class DockerEnclosure final : public Enclosure {
 public:
  DockerEnclosure(std::shared_ptr<Reaper> reaper, ContainerParts parts, http::Upgrade attached, HeldId held)
      : reaper_(std::move(reaper)),
        engine_(reaper_->engine()),
        parts_(std::move(parts)),
        channel_(std::move(attached), parts_.id.value),
        held_(std::move(held)),
        most_tasks_(engine_pids(parts_.spec.limits.pids, parts_.kernel)) {}
  ~DockerEnclosure() override {
    if (!resists_because_.empty()) reaper_->remember(labels::sandbox, parts_.id.value, std::move(resists_because_));
  }

  const SandboxId& id() const override { return parts_.id; }
  const SandboxSpec& spec() const override { return parts_.spec; }
  std::string runtime() const override { return parts_.runtime; }
  Kernel kernel() const override { return parts_.kernel; }
  Channel& channel() override { return channel_; }

  Task<Status> set_limits(const Limits& limits) override;
  Task<Status> freeze(Deadline deadline) override;
  Task<Status> thaw(Deadline deadline) override;
  Task<Result<ResourceUse>> resource_use(Deadline deadline) override;
  Task<Result<Evidence>> evidence() override;
  bool has_cheap_evidence() const override { return false; }
  Task<Status> destroy(Deadline deadline) override;

 private:
  Task<Status> apply(Limits limits, Deadline deadline);
  Task<Result<ContainerDetails>> inspect_dead(Deadline deadline);

  std::shared_ptr<Reaper> reaper_;
  std::shared_ptr<Engine> engine_;
  ContainerParts parts_;
  AttachedChannel channel_;
  HeldId held_;
  std::int64_t most_tasks_;      // of the container, as it was made
  std::string resists_because_;  // the last destroy() failed
};

Task<Status> DockerEnclosure::set_limits(const Limits& limits) {
  Limits wanted = limits;
  CLOCHE_CO_CHECK(validate(wanted));
  const Limits before = parts_.spec.limits;
  if (same_resources(wanted, before)) co_return Status{};
  if (parts_.kernel == Kernel::own) {
    // Processes are limited inside, by what each program is started with.
    const bool is_enforced_inside = wanted.memory == before.memory && wanted.cpus == before.cpus &&
                                    engine_pids(wanted.pids, parts_.kernel) <= most_tasks_;
    if (!is_enforced_inside) {
      co_return fail(ErrorCode::unsupported,
                     "sandbox " + parts_.id.value +
                         ": the engine cannot change the limits of a running sandbox on gVisor; create a new one");
    }
    parts_.spec.limits.pids = wanted.pids;
    co_return Status{};
  }
  const Deadline deadline = Deadline::after(limits_time);
  CLOCHE_CO_TRY(const ApiVersion version, co_await engine_->api_version(deadline));
  if (wanted.pids != before.pids && version < pids_update_api) {
    co_return fail(ErrorCode::unsupported, "this engine cannot change the pids limit of a running sandbox");
  }
  auto applied = co_await apply(wanted, deadline);
  if (applied) {
    parts_.spec.limits.memory = wanted.memory;
    parts_.spec.limits.cpus = wanted.cpus;
    parts_.spec.limits.pids = wanted.pids;
    co_return Status{};
  }
  // Some may have been set before the one that failed.
  auto restored = co_await apply(before, deadline);
  Error error = refusal_of_limits(std::move(applied).error()).at("set limits of sandbox " + parts_.id.value);
  if (!restored) error.message += "; the previous limits could not be restored: " + restored.error().message;
  co_return fail(std::move(error));
}

Task<Status> DockerEnclosure::apply(Limits limits, Deadline deadline) {
  json::object resources = resource_limits(limits, parts_.kernel);
  CLOCHE_CO_TRY(const auto warnings,
                co_await update_container(*engine_, parts_.container, std::move(resources), deadline));
  for (const auto& warning : warnings) {
    if (warns_of_lost_limit(warning))
      co_return fail(ErrorCode::unsupported, "the engine does not enforce all of them: " + warning);
  }
  co_return Status{};
}

// A container whose output ended is dead or about to be. The engine may hear of the memory kill a moment after it.
Task<Result<ContainerDetails>> DockerEnclosure::inspect_dead(Deadline deadline) {
  const Deadline dying = deadline.sooner(Deadline::after(dying_time));
  auto waited = co_await wait_for_container(*engine_, parts_.container, dying);
  if (!waited && waited.error().code != ErrorCode::timeout) co_return fail(std::move(waited).error());
  const Deadline late_oom = deadline.sooner(Deadline::after(late_oom_time));
  for (;;) {
    CLOCHE_CO_TRY(ContainerDetails details, co_await inspect_container(*engine_, parts_.container, deadline));
    const bool unexplained_kill = !details.is_running && !details.was_oom_killed && details.exit_code == 137;
    if (!unexplained_kill || late_oom.passed()) co_return details;
    co_await pause_for(50ms);
  }
}

Task<Result<Evidence>> DockerEnclosure::evidence() {
  const Deadline deadline = Deadline::after(evidence_time);
  Result<ContainerDetails> details;
  if (channel_.has_ended()) {
    details = co_await inspect_dead(deadline);
  } else {
    details = co_await inspect_container(*engine_, parts_.container, deadline);
  }
  if (!details && details.error().code == ErrorCode::not_found) {
    co_return fail(ErrorCode::sandbox_lost, "sandbox " + parts_.id.value + " is gone: its container was removed");
  }
  if (!details) co_return fail(std::move(details).error());
  Evidence evidence;
  std::string until = details->finished_at;
  if (details->is_running) {
    auto stats = co_await container_stats(*engine_, parts_.container, deadline);
    if (!stats) co_return evidence;  // an old engine; the agent's own counts must suffice
    if (stats->memory_peak > 0) evidence.memory_peak = Bytes{stats->memory_peak};
    until = stats->read_at;
  }
  auto events = co_await count_oom_events(*engine_, details->id, until, deadline);
  if (events) evidence.oom_kills = *events;
  if (details->was_oom_killed && evidence.oom_kills == 0) evidence.oom_kills = 1;
  // An engine has no figures of a container that has ended; the kernel kills at the limit.
  if (evidence.oom_kills > 0 && !evidence.memory_peak) evidence.memory_peak = parts_.spec.limits.memory;
  co_return evidence;
}

Task<Status> DockerEnclosure::freeze(Deadline deadline) {
  auto frozen = co_await pause_container(*engine_, parts_.container, deadline);
  if (!frozen) co_return fail(refusal_of_pause(std::move(frozen).error()).at("freeze sandbox " + parts_.id.value));
  fault_point<"backend.freeze.frozen">();
  co_return Status{};
}

Task<Status> DockerEnclosure::thaw(Deadline deadline) {
  auto thawed = co_await unpause_container(*engine_, parts_.container, deadline);
  if (!thawed) co_return fail(refusal_of_pause(std::move(thawed).error()).at("thaw sandbox " + parts_.id.value));
  co_return Status{};
}

Task<Result<ResourceUse>> DockerEnclosure::resource_use(Deadline deadline) {
  auto stats = co_await container_stats(*engine_, parts_.container, deadline);
  if (!stats) co_return fail(std::move(stats).error().at("measure sandbox " + parts_.id.value));
  ResourceUse use;
  use.cpu_time = std::chrono::microseconds(stats->cpu_ns / 1000);
  use.cache.count = std::min(stats->cache, stats->memory);
  use.memory.count = stats->memory - use.cache.count;
  co_return use;
}

Task<Status> DockerEnclosure::destroy(Deadline deadline) {
  channel_.close();
  auto work = [engine = engine_, container = parts_.container, deadline] {
    return remove_for_good(engine, container, deadline);
  };
  auto removed = co_await shielded(std::move(work));
  if (!removed) {
    resists_because_ = removed.error().message;
    co_return fail(std::move(removed).error().at("destroy sandbox " + parts_.id.value));
  }
  resists_because_.clear();
  if (!parts_.spec.gpus.empty()) CLOCHE_CO_CHECK(parts_.gpus->take_back(parts_.id.value));
  co_return Status{};
}

}  // namespace

std::unique_ptr<Enclosure> create_enclosure(std::shared_ptr<Reaper> reaper, ContainerParts parts,
                                            http::Upgrade attached, HeldId held) {
  return std::make_unique<DockerEnclosure>(std::move(reaper), std::move(parts), std::move(attached), std::move(held));
}

}  // namespace cloche::docker
