#include "backend/docker/docker_backend.hpp"

#include <fmt/format.h>

#include <set>

#include "backend/docker/enclosure.hpp"
#include "backend/docker/engine/engine_facts.hpp"
#include "backend/docker/examine.hpp"
#include "backend/docker/gpus.hpp"
#include "backend/docker/hardening.hpp"
#include "backend/docker/image/derive_image.hpp"
#include "backend/docker/labels.hpp"
#include "backend/docker/own_uids.hpp"
#include "backend/docker/reaper.hpp"
#include "backend/kernel/cpu_share.hpp"
#include "backend/kernel/host_counters.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"

namespace cloche {

namespace {

using namespace docker;
using namespace std::chrono_literals;

// An engine's abilities change when it is restarted, not from one sandbox to the next.
constexpr auto facts_lifetime = 30s;

// For one container that the engine does not report or does not release: the start of a server waits no longer than
// this.
constexpr auto attach_in_passing = 10s;
constexpr auto removal_in_passing = 5s;

// How often two servers may claim the same uid at once.
constexpr int most_races = 8;

// How an engine rejects a container: 400 for an invalid configuration, 404 for a missing image, 409 for a name in use.
// These are errors of the caller. All others are errors of the engine.
Error refusal_of_creation(Error error) {
  const bool of_configuration = error.code == ErrorCode::invalid_argument || error.code == ErrorCode::not_found ||
                                error.code == ErrorCode::already_exists;
  return of_configuration ? error : as_trouble_of_engine(std::move(error));
}

class DockerBackend final : public Backend {
 public:
  DockerBackend(Executor executor, asio::thread_pool& pool, DockerOptions options, http::Endpoint endpoint)
      : options_(std::move(options)),
        engine_(std::make_shared<Engine>(executor, std::move(endpoint))),
        reaper_(std::make_shared<Reaper>(executor, engine_)),
        uids_(engine_, options_.uids),
        gpus_(std::make_shared<EngineGpus>(engine_, pool, options_)),
        deriver_(executor, pool, reaper_, options_) {}

  std::string_view name() const override { return "docker"; }
  bool needs_image() const override { return true; }
  Task<Result<std::unique_ptr<Enclosure>>> create(SandboxSpec spec, Deadline deadline) override;
  Task<Result<std::vector<std::unique_ptr<Enclosure>>>> recover(Deadline deadline) override;
  std::vector<Unremoved> unremoved() const override { return reaper_->unremoved(); }
  Task<> retry_removals() override { return reaper_->retry(); }
  Task<std::vector<Finding>> examine(Deadline deadline) override;
  Task<Status> reach(Deadline deadline) override;
  Task<Status> prove(SandboxSpec spec, Deadline deadline) override;
  Task<Status> remove_former(std::vector<std::string> names, Deadline deadline) override;
  Task<Result<std::vector<Belonging>>> belongings(Deadline deadline) override;
  Task<Status> remove_belongings(Deadline deadline) override;

 private:
  Task<Result<EngineFacts>> facts(Deadline deadline);
  Task<Status> try_runtime(std::string runtime, Deadline deadline);
  Task<Result<ImageDetails>> ensure_image(std::string image, Deadline deadline);
  Task<Result<std::string>> create_apart(Cleanup& cleanup, SandboxSpec& spec, ContainerPlan plan, SandboxId id,
                                         Deadline deadline);
  Task<Result<std::string>> create_hardened(Cleanup& cleanup, const SandboxSpec& spec, ContainerPlan plan, SandboxId id,
                                            Deadline deadline);
  Task<Result<std::unique_ptr<Enclosure>>> raise(SandboxSpec spec, ContainerPlan plan, SandboxId id, Deadline deadline);
  Task<Result<std::unique_ptr<Enclosure>>> raise_with(Cleanup& cleanup, SandboxSpec spec, ContainerPlan plan,
                                                      SandboxId id, Deadline deadline);
  Task<Result<std::unique_ptr<Enclosure>>> create_with(SandboxSpec spec, ContainerPlan plan, SandboxId id,
                                                       Deadline deadline);
  Task<Status> remove_half_derived(Deadline deadline);
  Task<Result<std::unique_ptr<Enclosure>>> take_up(ContainerSummary container, Deadline deadline);

  DockerOptions options_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<HeldIds> held_ = std::make_shared<HeldIds>();
  std::optional<EngineFacts> facts_;
  Deadline facts_until_ = Deadline::never();
  std::shared_ptr<Reaper> reaper_;
  OwnUids uids_;
  std::shared_ptr<EngineGpus> gpus_;
  ImageDeriver deriver_;
};

Task<Result<EngineFacts>> DockerBackend::facts(Deadline deadline) {
  if (facts_ && !facts_until_.passed()) co_return *facts_;
  auto fetched = co_await fetch_facts(*engine_, deadline);
  if (!fetched) co_return fail(as_trouble_of_engine(std::move(fetched).error()));
  facts_ = std::move(*fetched);
  facts_until_ = Deadline::after(facts_lifetime);
  co_return *facts_;
}

Task<Status> DockerBackend::reach(Deadline deadline) {
  auto answered = co_await fetch_facts(*engine_, deadline);
  if (!answered) co_return fail(std::move(answered).error());
  co_return Status{};
}

Task<Result<ImageDetails>> DockerBackend::ensure_image(std::string image, Deadline deadline) {
  CLOCHE_CO_TRY(const ImageReference reference, parse_image_reference(image));
  auto there = co_await inspect_image(*engine_, image, deadline);
  if (there) co_return there;
  if (there.error().code != ErrorCode::not_found) co_return fail(as_trouble_of_engine(std::move(there).error()));
  const std::string missing = "the engine has no image '" + image + "'";
  if (options_.pull == PullPolicy::never) {
    co_return fail(ErrorCode::not_found,
                   missing + " and pulling is off: `docker pull`, `docker load` or build it first");
  }
  log::info("docker: pulling {}", image);
  Progress progress = [image](std::string_view line) { log::debug("docker: pulling {}: {}", image, line); };
  auto pulled = co_await pull_image(*engine_, reference, std::move(progress), deadline);
  if (!pulled) {
    const ErrorCode code = pulled.error().code;
    if (code == ErrorCode::timeout || code == ErrorCode::unavailable)
      co_return fail(std::move(pulled).error().at(missing));
    co_return fail(ErrorCode::not_found,
                   missing +
                       " and could not pull it: check the name, or `docker pull`, `docker load` or build it first (" +
                       pulled.error().message + ")");
  }
  log::info("docker: pulled {}", image);
  co_return co_await inspect_image(*engine_, image, deadline);
}

Task<Result<std::unique_ptr<Enclosure>>> DockerBackend::create(SandboxSpec spec, Deadline deadline) {
  CLOCHE_CO_CHECK(validate(spec));
  CLOCHE_CO_CHECK(require_sizes(spec.limits));
  if (spec.workspace == WorkspaceKind::disk) {
    co_return fail(ErrorCode::unsupported,
                   "an engine cannot limit the size of a work directory on disk; use the backend oci, or workspace: "
                   "memory");
  }
  const SandboxId id{random_hex(8)};
  ContainerPlan plan;
  CLOCHE_CO_TRY(plan.labels, labels::for_sandbox(spec, id, options_.instance));
  plan.host_path_map = options_.host_path_map;
  CLOCHE_CO_TRY(const EngineFacts known, co_await facts(deadline));
  CLOCHE_CO_TRY(plan.runtime, choose_runtime(known, spec.runtime));
  plan.kernel = known.kernel_of(plan.runtime);
  CLOCHE_CO_CHECK(check_walls(known, plan.runtime));
  if (spec.root) CLOCHE_CO_CHECK(check_root(known, plan.runtime));
  if (spec.gpus.empty()) co_return co_await create_with(std::move(spec), std::move(plan), id, deadline);
  CLOCHE_CO_CHECK(gpus_->check(known, plan.runtime));
  CLOCHE_CO_TRY(plan.devices, co_await gpus_->lend(spec.gpus, id.value, known, deadline));
  auto made = co_await create_with(std::move(spec), std::move(plan), id, deadline);
  auto settled = co_await gpus_->settle(id.value, deadline);
  if (!settled) log::warn("docker: GPUs of sandboxes that are gone: {}", settled.error().message);
  co_return made;
}

Task<Result<std::unique_ptr<Enclosure>>> DockerBackend::create_with(SandboxSpec spec, ContainerPlan plan, SandboxId id,
                                                                    Deadline deadline) {
  CLOCHE_CO_TRY(const ImageDetails base, co_await ensure_image(spec.image, deadline));
  CLOCHE_CO_CHECK(check_volumes(base.volumes));
  plan.volumes = base.volumes;
  const HostUids uids = uids_.range_for(spec, plan.kernel);
  plan.has_own_uid = uids.count > 0;
  CLOCHE_CO_TRY(plan.image, co_await deriver_.derive(base, layout_of(spec, uids), deadline));

  auto made = co_await raise(spec, plan, id, deadline);
  if (made || made.error().code != ErrorCode::not_found) co_return made;
  // The derived image was removed since we last saw it.
  deriver_.forget(plan.image);
  CLOCHE_CO_TRY(plan.image, co_await deriver_.derive(base, layout_of(spec, uids), deadline));
  co_return co_await raise(std::move(spec), std::move(plan), id, deadline);
}

Task<Result<std::unique_ptr<Enclosure>>> DockerBackend::raise(SandboxSpec spec, ContainerPlan plan, SandboxId id,
                                                              Deadline deadline) {
  Cleanup cleanup(reaper_, labels::sandbox, id.value);
  auto made = co_await raise_with(cleanup, std::move(spec), std::move(plan), std::move(id), deadline);
  if (made) {
    cleanup.keep();
    reaper_->engine_answers();
  } else {
    co_await cleanup.run();
  }
  co_return made;
}

// Creates the container and makes sure that the engine left no limit out.
Task<Result<std::string>> DockerBackend::create_hardened(Cleanup& cleanup, const SandboxSpec& spec, ContainerPlan plan,
                                                         SandboxId id, Deadline deadline) {
  const std::string name = spec.name.empty() ? options_.name_prefix + "-" + id.value : spec.name;
  json::object body = container_body(spec, plan);
  auto created = co_await create_container(*engine_, name, std::move(body), deadline);
  const bool heard =
      created || (created.error().code != ErrorCode::timeout && created.error().code != ErrorCode::unavailable);
  if (heard) cleanup.answered();
  if (!created) co_return fail(refusal_of_creation(std::move(created).error()));
  for (const auto& warning : created->warnings) {
    if (warns_of_lost_limit(warning)) {
      co_return fail(ErrorCode::unsupported, "the engine does not enforce all limits: " + warning);
    }
    log::warn("docker: {}", warning);
  }
  co_return created->id;
}

// Creates the container, and makes sure that no other has its uid if it gets one of its own.
Task<Result<std::string>> DockerBackend::create_apart(Cleanup& cleanup, SandboxSpec& spec, ContainerPlan plan,
                                                      SandboxId id, Deadline deadline) {
  if (!plan.has_own_uid) co_return co_await create_hardened(cleanup, spec, std::move(plan), std::move(id), deadline);
  for (int races = 0; races < most_races; ++races) {
    CLOCHE_CO_TRY(const std::uint32_t uid, co_await uids_.pick(deadline));
    spec.uid = uid;
    plan.labels[labels::uid] = std::to_string(uid);
    CLOCHE_CO_TRY(std::string container, co_await create_hardened(cleanup, spec, plan, id, deadline));
    CLOCHE_CO_TRY(const bool is_alone, co_await uids_.is_alone(uid, deadline));
    if (is_alone) co_return container;
    log::info("docker: uid {} was claimed twice at once; choosing another", uid);
    auto removed = co_await remove_for_good(engine_, std::move(container), deadline);
    if (!removed) co_return fail(as_trouble_of_engine(std::move(removed).error()));
  }
  co_return fail(ErrorCode::unavailable, fmt::format("other servers claimed the same uid {} times", most_races));
}

Task<Result<std::unique_ptr<Enclosure>>> DockerBackend::raise_with(Cleanup& cleanup, SandboxSpec spec,
                                                                   ContainerPlan plan, SandboxId id,
                                                                   Deadline deadline) {
  HeldId held(held_, id.value);
  ContainerParts parts;
  parts.id = id;
  parts.gpus = gpus_;
  parts.runtime = plan.runtime;
  parts.kernel = plan.kernel;
  CLOCHE_CO_TRY(parts.container, co_await create_apart(cleanup, spec, std::move(plan), id, deadline));
  fault_point<"backend.make.created">();
  parts.spec = std::move(spec);
  // Attached first: without a log, earlier output of the agent would be lost. The engine has accepted the configuration
  // by now, so later errors are not the caller's fault.
  auto attached = co_await attach_container(*engine_, parts.container, deadline);
  if (!attached) co_return fail(as_trouble_of_engine(std::move(attached).error()));
  auto started = co_await start_container(*engine_, parts.container, deadline);
  if (!started) co_return fail(as_trouble_of_engine(std::move(started).error()));
  fault_point<"backend.make.started">();
  co_return create_enclosure(reaper_, std::move(parts), std::move(*attached), std::move(held));
}

Task<Result<std::vector<std::unique_ptr<Enclosure>>>> DockerBackend::recover(Deadline deadline) {
  CLOCHE_CO_CHECK(co_await remove_half_derived(deadline));
  LabelMap ours = labels::of_owner(options_.instance);
  CLOCHE_CO_TRY(auto found, co_await list_containers(*engine_, std::move(ours), deadline));
  std::vector<std::unique_ptr<Enclosure>> living;
  for (auto& container : found) {
    if (held_->contains(container.labels[labels::sandbox])) continue;
    const std::string id = container.id;
    const std::string sandbox = container.labels[labels::sandbox];
    // One that resists must not cost the others: each has some seconds.
    auto taken = co_await take_up(std::move(container), Deadline::after(attach_in_passing).sooner(deadline));
    if (taken) {
      living.push_back(std::move(*taken));
      continue;
    }
    // An engine that is gone or hangs says nothing of any container: none is lost for that.
    const ErrorCode code = taken.error().code;
    if (code == ErrorCode::unavailable || code == ErrorCode::timeout) {
      auto reached = co_await reach(Deadline::after(attach_in_passing).sooner(deadline));
      if (!reached) co_return fail(std::move(reached).error().at("recover"));
    }
    log::warn("docker: removing container {}: {}", id.substr(0, 12), taken.error().message);
    const Deadline in_passing = Deadline::after(removal_in_passing).sooner(deadline);
    auto removed = co_await remove_for_good(engine_, id, in_passing);
    if (!removed) reaper_->remember(labels::sandbox, sandbox, removed.error().message);
  }
  // One that ended in order left nothing. One that was killed may have asked for more than the engine has made by now.
  if (!found.empty()) {
    reaper_->remove_strays(labels::of_owner(options_.instance), [held = held_](const LabelMap& borne) {
      const auto sandbox = borne.find(labels::sandbox);
      return sandbox != borne.end() && held->contains(sandbox->second);
    });
  }
  auto swept = co_await gpus_->sweep(deadline);
  if (!swept) log::warn("docker: GPUs of sandboxes that are gone: {}", swept.error().message);
  co_return living;
}

Task<Status> DockerBackend::remove_half_derived(Deadline deadline) {
  LabelMap ours;
  ours[labels::deriving_owner] = options_.instance.value;
  CLOCHE_CO_TRY(const auto found, co_await list_containers(*engine_, std::move(ours), deadline));
  for (const auto& container : found) {
    const Deadline in_passing = Deadline::after(removal_in_passing).sooner(deadline);
    auto removed = co_await remove_for_good(engine_, container.id, in_passing);
    if (removed) continue;
    const auto value = container.labels.find(labels::deriving);
    if (value != container.labels.end()) reaper_->remember(labels::deriving, value->second, removed.error().message);
  }
  co_return Status{};
}

// What can be checked without pulling an image: the engine responds, has the runtime and enforces the limits, and with
// an image that it already has, a container really starts.
Task<Status> DockerBackend::prove(SandboxSpec spec, Deadline deadline) {
  CLOCHE_CO_TRY(const EngineFacts known, co_await facts(deadline));
  CLOCHE_CO_TRY(const std::string runtime, choose_runtime(known, spec.runtime));
  CLOCHE_CO_CHECK(check_walls(known, runtime));
  if (spec.root) CLOCHE_CO_CHECK(check_root(known, runtime));
  auto there = co_await inspect_image(*engine_, spec.image, deadline);
  if (!there && there.error().code == ErrorCode::not_found) co_return Status{};
  if (!there) co_return fail(as_trouble_of_engine(std::move(there).error()));
  spec.name.clear();
  auto made = co_await create(std::move(spec), deadline);
  if (!made) co_return fail(std::move(made).error());
  const std::string sandbox = (*made)->id().value;
  const Deadline in_passing = Deadline::after(removal_in_passing).sooner(deadline);
  auto gone = co_await (*made)->destroy(in_passing);
  // It has been proved that one can be made; the rest is done beside the start.
  if (!gone) reaper_->remove_labelled(labels::sandbox, sandbox, Reaper::Arrival::certain);
  co_return Status{};
}

Task<Status> DockerBackend::remove_former(std::vector<std::string> names, Deadline deadline) {
  if (options_.instance.name.empty()) co_return Status{};
  LabelMap of_name;
  of_name[labels::app] = "cloche";
  of_name[labels::instance] = options_.instance.name;
  CLOCHE_CO_TRY(auto found, co_await list_containers(*engine_, std::move(of_name), deadline));
  Status result;
  for (ContainerSummary& container : found) {
    const auto spec = read_spec(container.labels[labels::spec_json]);
    const bool is_ours =
        !container.labels.contains(labels::owner) && spec && std::ranges::find(names, spec->name) != names.end();
    if (!is_ours) continue;
    const Deadline in_passing = Deadline::after(removal_in_passing).sooner(deadline);
    auto removed = co_await remove_for_good(engine_, std::move(container.id), in_passing);
    if (!removed && result) result = std::move(removed);  // one that resists must not cost the others
  }
  co_return result;
}

Task<Result<std::vector<Belonging>>> DockerBackend::belongings(Deadline deadline) {
  std::vector<Belonging> all;
  LabelMap any;
  CLOCHE_CO_TRY(auto found, co_await list_containers(*engine_, std::move(any), deadline));
  for (ContainerSummary& container : found) {
    const std::string owner = labels::owner_of(container.labels);
    if (owner.empty()) continue;
    all.push_back({owner, "container", container.id.substr(0, 12) + " (" + container.state + ")",
                   container.labels[labels::instance], container.labels[labels::place]});
  }
  co_return all;
}

Task<Status> DockerBackend::remove_belongings(Deadline deadline) {
  LabelMap any;
  CLOCHE_CO_TRY(const auto found, co_await list_containers(*engine_, std::move(any), deadline));
  Status result;
  for (const ContainerSummary& container : found) {
    if (labels::owner_of(container.labels) != options_.instance.value) continue;
    std::string id = container.id;
    auto removed = co_await remove_for_good(engine_, std::move(id), deadline);
    if (!removed && result) result = std::move(removed);  // one that resists must not cost the others
  }
  co_return result;
}

// A container that a process before us made, if it still is a sandbox.
Task<Result<std::unique_ptr<Enclosure>>> DockerBackend::take_up(ContainerSummary container, Deadline deadline) {
  const bool is_paused = container.state == "paused";
  if (container.state != "running" && !is_paused)
    co_return fail(ErrorCode::sandbox_lost, "it does not run (" + container.state + ")");
  ContainerParts parts;
  parts.container = container.id;
  parts.id = SandboxId{container.labels[labels::sandbox]};
  parts.gpus = gpus_;
  if (parts.id.value.empty()) co_return fail(ErrorCode::sandbox_lost, "it has no sandbox id");
  CLOCHE_CO_TRY(parts.spec, read_spec(container.labels[labels::spec_json]));
  if (const auto uid = labels::read_uid(container.labels)) parts.spec.uid = *uid;
  HeldId held(held_, parts.id.value);
  CLOCHE_CO_TRY(const ContainerDetails details, co_await inspect_container(*engine_, container.id, deadline));
  parts.runtime = details.runtime;
  CLOCHE_CO_TRY(const EngineFacts known, co_await facts(deadline));
  parts.kernel = known.kernel_of(details.runtime);
  // The label says how it was made; limits may have been changed since.
  parts.spec.limits.memory = Bytes{details.memory};
  // The engine has the share in whole microseconds.
  if (cpu_share(details.cpus) != cpu_share(parts.spec.limits.cpus)) parts.spec.limits.cpus = details.cpus;
  // With gVisor the engine's figure is of other threads.
  if (parts.kernel == Kernel::shared) parts.spec.limits.pids = static_cast<std::uint32_t>(details.pids);
  // An earlier process has frozen it; its agent has to respond.
  if (is_paused) CLOCHE_CO_CHECK(co_await unpause_container(*engine_, container.id, deadline));
  CLOCHE_CO_TRY(http::Upgrade attached, co_await attach_container(*engine_, container.id, deadline));
  co_return create_enclosure(reaper_, std::move(parts), std::move(attached), std::move(held));
}

Task<std::vector<Finding>> DockerBackend::examine(Deadline deadline) {
  auto version = co_await engine_->api_version(deadline);
  if (!version) co_return unreachable_findings(version.error());
  facts_.reset();
  auto known = co_await facts(deadline);
  if (!known) co_return unreachable_findings(known.error());
  auto findings = engine_findings(*known, *version, engine_->endpoint());
  const auto chosen = choose_runtime(*known, "auto");
  std::set<std::string> runtimes{known->default_runtime};
  if (chosen) runtimes.insert(*chosen);
  for (const std::string& runtime : runtimes) {
    auto started = co_await try_runtime(runtime, deadline);
    findings.push_back(runtime_finding(runtime, started, chosen && runtime == *chosen));
  }
  LabelMap any;
  auto all = co_await list_containers(*engine_, std::move(any), deadline);
  if (all) findings.push_back(removals_finding(*all));
  // Only then is its kernel this one.
  if (std::holds_alternative<http::UnixEndpoint>(engine_->endpoint())) findings.push_back(examine_host_counters());
  co_return findings;
}

// Starts one sandbox, from an image that holds nothing but what the agent needs, and removes both. An engine lists
// runtimes that it has never started.
Task<Status> DockerBackend::try_runtime(std::string runtime, Deadline deadline) {
  const ImageReference reference{"cloche/probe", random_hex(6)};
  const std::string image = reference.repository + ":" + reference.tag;
  std::string empty_archive(1024, '\0');
  CLOCHE_CO_CHECK(co_await import_image(*engine_, reference, std::move(empty_archive), deadline));
  SandboxSpec spec;
  spec.image = image;
  spec.runtime = std::move(runtime);
  auto made = co_await create(spec, deadline);
  Status outcome = made ? Status{} : Status(fail(made.error()));
  if (made) {
    auto removed = co_await (*made)->destroy(deadline);
    if (outcome) outcome = std::move(removed);
  }
  auto base = co_await inspect_image(*engine_, image, deadline);
  if (base) {
    const Kernel kernel = facts_ ? facts_->kernel_of(spec.runtime) : Kernel::shared;
    auto derived = co_await deriver_.derive(*base, layout_of(spec, uids_.range_for(spec, kernel)), deadline);
    if (derived) {
      deriver_.forget(*derived);
      [[maybe_unused]] auto gone = co_await remove_image(*engine_, *derived, deadline);
    }
  }
  auto cleaned = co_await remove_image(*engine_, image, deadline);
  if (outcome) outcome = std::move(cleaned);
  co_return outcome;
}

}  // namespace

Result<std::unique_ptr<Backend>> create_docker_backend(Executor executor, asio::thread_pool& pool,
                                                       DockerOptions options) {
  CLOCHE_CHECK(docker::validate(options));
  CLOCHE_TRY(http::Endpoint endpoint, engine_endpoint(options));
  return std::make_unique<DockerBackend>(std::move(executor), pool, std::move(options), std::move(endpoint));
}

}  // namespace cloche
