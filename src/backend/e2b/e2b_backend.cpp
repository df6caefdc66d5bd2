#include "backend/e2b/e2b_backend.hpp"

#include <algorithm>

#include "backend/e2b/enclosure.hpp"
#include "backend/e2b/examine.hpp"
#include "backend/e2b/metadata.hpp"
#include "backend/e2b/set_up.hpp"
#include "core/async/event.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "sandbox/spec_text.hpp"

namespace cloche {

namespace {

using namespace e2b;
using namespace std::chrono_literals;

// For one sandbox that the service does not report or does not release: the start of a server waits no longer than
// this.
constexpr auto take_up_in_passing = 10s;
constexpr auto removal_in_passing = 5s;

constexpr int most_looks = 5;
constexpr auto between_looks = 300ms;

std::unexpected<Error> unsupported(std::string why) { return fail(ErrorCode::unsupported, std::move(why)); }

// All that a service cannot do, before anything is made. A limit that it cannot enforce is among them.
Status check_spec(const SandboxSpec& spec) {
  CLOCHE_CHECK(validate(spec));
  if (!are_of_image(spec.limits)) {
    return unsupported(
        "the e2b backend cannot limit memory, cpus and the sizes of directories: they are those of the template; leave "
        "them out of the limits (in the library: limits_of_image())");
  }
  if (spec.runtime != "auto") {
    return unsupported("the e2b backend has no runtime '" + spec.runtime + "', nor any other; leave `runtime` out");
  }
  if (spec.workspace == WorkspaceKind::disk) {
    return unsupported(
        "the e2b backend has no disks of its own; leave `workspace` out: the work directory is on the "
        "template's disk");
  }
  if (!spec.mounts.empty())
    return unsupported("the e2b backend cannot mount files of this host; write them into the sandbox instead");
  if (!spec.gpus.empty()) return unsupported("the e2b backend has no GPUs");
  if (spec.root) {
    return unsupported(
        "the e2b backend cannot limit the processes of root; leave `root` out, or install what programs "
        "need in the template");
  }
  return {};
}

class E2bBackend final : public Backend {
 public:
  E2bBackend(Executor executor, asio::thread_pool& pool, E2bSettings settings, Address address)
      : executor_(executor),
        settings_(settings),
        control_(std::make_shared<Control>(executor, settings, std::move(address))),
        set_up_(pool, settings.agent_path),
        reaper_(std::make_shared<Reaper>(executor, control_, settings.instance)) {}

  std::string_view name() const override { return "e2b"; }
  bool can_reset() const override { return false; }
  Task<Result<std::unique_ptr<Enclosure>>> create(SandboxSpec spec, Deadline deadline) override;
  Task<Result<std::vector<std::unique_ptr<Enclosure>>>> recover(Deadline deadline) override;
  std::vector<Unremoved> unremoved() const override { return reaper_->unremoved(); }
  Task<> retry_removals() override { return reaper_->retry(); }
  Task<std::vector<Finding>> examine(Deadline deadline) override;
  Task<Status> reach(Deadline deadline) override { return control_->check_key(deadline); }
  Task<Status> prove(SandboxSpec spec, Deadline deadline) override;
  Task<Result<std::vector<Belonging>>> belongings(Deadline deadline) override;
  Task<Status> remove_belongings(Deadline deadline) override;

 private:
  Task<Result<std::unique_ptr<Enclosure>>> create_with(Cleanup& cleanup, SandboxSpec spec, SandboxId id,
                                                       Deadline deadline);
  Task<Result<RemoteSandbox>> describe_new(std::string remote_id, Deadline deadline);
  Task<Result<std::unique_ptr<Enclosure>>> take_up(RemoteSandbox found, Deadline deadline);
  Task<Status> try_one(SandboxSpec spec, Deadline deadline);
  Result<Remote> remote_of(const RemoteSandbox& sandbox, const std::string& id) const;

  Executor executor_;
  E2bSettings settings_;
  std::shared_ptr<Control> control_;
  SetUp set_up_;
  std::shared_ptr<HeldIds> held_ = std::make_shared<HeldIds>();
  std::shared_ptr<Reaper> reaper_;
};

Result<Remote> E2bBackend::remote_of(const RemoteSandbox& sandbox, const std::string& id) const {
  CLOCHE_TRY(Address address, sandbox_address(settings_, sandbox.id, sandbox.domain));
  Remote remote;
  remote.executor = executor_;
  remote.control = control_;
  remote.plane = std::make_shared<DataPlane>(executor_, std::move(address), sandbox);
  remote.id = sandbox.id;
  remote.sandbox = id;
  return remote;
}

Task<Result<std::unique_ptr<Enclosure>>> E2bBackend::create(SandboxSpec spec, Deadline deadline) {
  CLOCHE_CO_CHECK(check_spec(spec));
  SandboxId id{random_hex(8)};
  Cleanup cleanup(reaper_, id.value);
  auto made = co_await create_with(cleanup, std::move(spec), std::move(id), deadline);
  if (made) {
    cleanup.keep();
  } else {
    co_await cleanup.run();
  }
  co_return made;
}

Task<Result<std::unique_ptr<Enclosure>>> E2bBackend::create_with(Cleanup& cleanup, SandboxSpec spec, SandboxId id,
                                                                 Deadline deadline) {
  HeldId held(held_, id.value);
  NewSandbox wanted;
  wanted.template_name = spec.image.empty() ? settings_.template_name : spec.image;
  wanted.lifetime_s = static_cast<std::uint32_t>(lifetime.count());
  wanted.secure_access = settings_.secure_access;
  wanted.allow_internet_access = settings_.allow_internet_access;
  CLOCHE_CO_TRY(wanted.metadata, metadata::for_sandbox(spec, id, settings_.instance));
  CLOCHE_CO_TRY(const Control::Created created,
                co_await control_->create(std::move(wanted), cleanup.has_answered, deadline));
  if (created.may_have_twin) reaper_->remove(id.value, Reaper::Arrival::late, created.sandbox.id);
  if (settings_.secure_access && created.sandbox.access_token.empty()) {
    co_return fail(
        ErrorCode::unsupported,
        "E2B made a sandbox without an access token, although one was requested: rebuild its template, or set "
        "E2B_SECURE_ACCESS=false");
  }
  CLOCHE_CO_TRY(const RemoteSandbox about, co_await describe_new(created.sandbox.id, deadline));
  RemoteParts parts;
  CLOCHE_CO_TRY(parts.remote, remote_of(created.sandbox, id.value));
  auto done = co_await set_up_.run(parts.remote, spec, deadline);
  if (!done) co_return fail(std::move(done).error().at("set up sandbox " + created.sandbox.id + " of E2B"));
  spec.limits = with_template(spec.limits, about);
  parts.spec = std::move(spec);
  co_return create_enclosure(reaper_, std::move(parts), std::move(held));
}

// The sizes of its template. A service of several machines may not know at once everywhere what it has made.
Task<Result<RemoteSandbox>> E2bBackend::describe_new(std::string remote_id, Deadline deadline) {
  for (int tries = 1;; ++tries) {
    auto about = co_await control_->detail(remote_id, deadline);
    const bool is_late = !about && about.error().code == ErrorCode::not_found && tries < most_looks;
    if (!is_late) co_return about;
    co_await pause_for(between_looks);
  }
}

Task<Result<std::vector<std::unique_ptr<Enclosure>>>> E2bBackend::recover(Deadline deadline) {
  CLOCHE_CO_TRY(auto found, co_await control_->list(metadata::of_owner(settings_.instance), deadline));
  std::vector<std::unique_ptr<Enclosure>> living;
  for (RemoteSandbox& sandbox : found) {
    const std::string id = metadata::value_of(sandbox.metadata, metadata::sandbox);
    if (held_->contains(id)) continue;
    const std::string remote_id = sandbox.id;
    // One that resists must not cost the others: each has some seconds.
    auto taken = co_await take_up(std::move(sandbox), Deadline::after(take_up_in_passing).sooner(deadline));
    if (taken) {
      living.push_back(std::move(*taken));
      continue;
    }
    // A service that is gone or hangs says nothing of any sandbox: none is lost for that.
    const ErrorCode code = taken.error().code;
    if (code == ErrorCode::unavailable || code == ErrorCode::timeout) {
      auto reached = co_await reach(Deadline::after(take_up_in_passing).sooner(deadline));
      if (!reached) co_return fail(std::move(reached).error().at("recover"));
    }
    log::warn("e2b: removing sandbox {}: {}", remote_id, taken.error().message);
    const Deadline in_passing = Deadline::after(removal_in_passing).sooner(deadline);
    auto removed = co_await remove_for_good(control_, remote_id, in_passing);
    if (!removed && !id.empty()) reaper_->remember(id, removed.error().message);
  }
  co_return living;
}

// A sandbox that a process before us made, if it still is one of ours.
Task<Result<std::unique_ptr<Enclosure>>> E2bBackend::take_up(RemoteSandbox found, Deadline deadline) {
  const std::string id = metadata::value_of(found.metadata, metadata::sandbox);
  if (id.empty()) co_return fail(ErrorCode::sandbox_lost, "it has no sandbox id");
  if (found.is_paused) co_return fail(ErrorCode::sandbox_lost, "it is paused, and Cloche pauses none");
  RemoteParts parts;
  CLOCHE_CO_TRY(parts.spec, read_spec(metadata::value_of(found.metadata, metadata::spec_json)));
  HeldId held(held_, id);
  // Lists have no access tokens.
  CLOCHE_CO_TRY(const RemoteSandbox about, co_await control_->detail(found.id, deadline));
  CLOCHE_CO_TRY(parts.remote, remote_of(about, id));
  parts.spec.limits = with_template(parts.spec.limits, about);
  CLOCHE_CO_CHECK(co_await control_->set_lifetime(found.id, static_cast<std::uint32_t>(lifetime.count()), deadline));
  // One whose server was killed before it started the relay is of no use.
  const Dial dial = dial_to(parts.remote);
  CLOCHE_CO_TRY(const auto connection, co_await dial(deadline));
  connection->close();
  co_return create_enclosure(reaper_, std::move(parts), std::move(held));
}

Task<Status> E2bBackend::try_one(SandboxSpec spec, Deadline deadline) {
  auto made = co_await create(std::move(spec), deadline);
  if (!made) co_return fail(std::move(made).error());
  const std::string id = (*made)->id().value;
  const Deadline in_passing = Deadline::after(removal_in_passing).sooner(deadline);
  auto gone = co_await (*made)->destroy(in_passing);
  // It has been proved that one can be made; the rest is done next to the start.
  if (!gone) reaper_->remove(id, Reaper::Arrival::certain);
  co_return Status{};
}

Task<Status> E2bBackend::prove(SandboxSpec spec, Deadline deadline) {
  spec.name.clear();
  auto tried = co_await try_one(std::move(spec), deadline);
  // A missing template proves nothing.
  if (!tried && tried.error().code == ErrorCode::not_found) co_return Status{};
  co_return tried;
}

Task<std::vector<Finding>> E2bBackend::examine(Deadline deadline) {
  if (settings_.api_key.empty()) co_return unconfigured_findings();
  auto key = co_await control_->check_key(deadline);
  auto findings = service_findings(settings_, control_->describe(), key);
  if (!key) co_return findings;
  SandboxSpec spec;
  spec.limits = limits_of_image(spec.limits);
  const auto start = Deadline::Clock::now();
  auto tried = co_await try_one(std::move(spec), deadline);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::Clock::now() - start);
  findings.push_back(trial_finding(settings_, tried, took));
  co_return findings;
}

Task<Result<std::vector<Belonging>>> E2bBackend::belongings(Deadline deadline) {
  std::vector<Belonging> all;
  // Without a key the backend is not in use.
  if (settings_.api_key.empty()) co_return all;
  CLOCHE_CO_TRY(const auto found, co_await control_->list(metadata::of_all(), deadline));
  for (const RemoteSandbox& sandbox : found) {
    const std::string owner = metadata::value_of(sandbox.metadata, metadata::owner);
    if (owner.empty()) continue;
    Belonging belonging;
    belonging.owner = owner;
    belonging.kind = "sandbox";
    belonging.name = sandbox.id + (sandbox.is_paused ? " (paused)" : " (running)");
    belonging.owner_name = metadata::value_of(sandbox.metadata, metadata::instance);
    all.push_back(std::move(belonging));
  }
  co_return all;
}

Task<Status> E2bBackend::remove_belongings(Deadline deadline) {
  CLOCHE_CO_TRY(const auto found, co_await control_->list(metadata::of_owner(settings_.instance), deadline));
  Status result;
  for (const RemoteSandbox& sandbox : found) {
    auto removed = co_await remove_for_good(control_, sandbox.id, deadline);
    if (!removed && result) result = std::move(removed);  // one that resists must not cost the others
  }
  co_return result;
}

}  // namespace

Result<std::unique_ptr<Backend>> create_e2b_backend(Executor executor, asio::thread_pool& pool, E2bSettings settings) {
  CLOCHE_CHECK(e2b::validate(settings));
  CLOCHE_TRY(Address address, control_address(settings));
  return std::make_unique<E2bBackend>(std::move(executor), pool, std::move(settings), std::move(address));
}

}  // namespace cloche
