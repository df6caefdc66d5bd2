#include "backend/kubernetes/kubernetes_backend.hpp"

#include <charconv>

#include "backend/kubernetes/api/status.hpp"
#include "backend/kubernetes/cluster.hpp"
#include "backend/kubernetes/enclosure.hpp"
#include "backend/kubernetes/examine.hpp"
#include "backend/kubernetes/pod/marks.hpp"
#include "core/async/event.hpp"
#include "core/fault_point.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "core/percent_encoding.hpp"
#include "sandbox/live_sandbox.hpp"
#include "sandbox/spec_text.hpp"

namespace cloche {

namespace {

using namespace kubernetes;
using namespace std::chrono_literals;

// For one sandbox that the cluster does not report or does not release: the start of a server waits no longer than
// this.
constexpr auto take_up_in_passing = 10s;
constexpr auto removal_in_passing = 10s;
constexpr auto time_for_events = 5s;

std::unexpected<Error> unsupported(std::string why) { return fail(ErrorCode::unsupported, std::move(why)); }

// All that a pod cannot do, before anything is made. A limit that cannot be enforced is among them.
Status check_spec(const SandboxSpec& spec) {
  CLOCHE_CHECK(cloche::validate(spec));
  CLOCHE_CHECK(require_sizes(spec.limits));
  if (spec.image.empty()) {
    return fail(ErrorCode::invalid_argument, "the kubernetes backend needs an image; set `image` of the profile");
  }
  if (spec.workspace == WorkspaceKind::disk) {
    return unsupported("the kubernetes backend has no disks; leave `workspace` out: the work directory is in memory");
  }
  if (!spec.mounts.empty())
    return unsupported("the kubernetes backend cannot mount files of this host; write them into the sandbox instead");
  if (!spec.gpus.empty()) return unsupported("the kubernetes backend has no GPUs");
  if (spec.root) {
    return unsupported(
        "the kubernetes backend cannot limit the processes of root; leave `root` out, or install what programs need in "
        "the image");
  }
  if (!is_object_name(spec.hostname) || spec.hostname.size() > 63 || spec.hostname.find('.') != std::string::npos) {
    return fail(ErrorCode::invalid_argument,
                "invalid hostname '" + spec.hostname + "': a pod's has lower-case letters, digits and '-'");
  }
  return {};
}

// The uid that its programs have; it may be greater than any that a spec can ask for.
Result<std::uint32_t> uid_mark_of(const Pod& pod) {
  const std::string text = marks::value_of(pod.annotations, marks::uid);
  std::uint32_t uid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), uid);
  if (error != std::errc() || end != text.data() + text.size() || uid == 0)
    return fail(ErrorCode::sandbox_lost, "it does not say which uid its programs have");
  return uid;
}

class KubernetesBackend final : public Backend {
 public:
  KubernetesBackend(Executor executor, asio::thread_pool& pool, KubernetesSettings settings)
      : executor_(executor),
        settings_(std::move(settings)),
        api_(std::make_shared<Api>(executor, pool, settings_)),
        watch_(std::make_shared<PodWatch>(executor, api_, marks::of_owner(settings_.instance))),
        cluster_(api_),
        reaper_(std::make_shared<Reaper>(executor, Removal{api_, watch_, settings_.instance})) {}

  std::string_view name() const override { return "kubernetes"; }
  bool needs_image() const override { return true; }
  Task<Result<std::unique_ptr<Enclosure>>> create(SandboxSpec spec, Deadline deadline) override;
  Task<Result<std::vector<std::unique_ptr<Enclosure>>>> recover(Deadline deadline) override;
  std::vector<Unremoved> unremoved() const override { return reaper_->unremoved(); }
  Task<> retry_removals() override { return reaper_->retry(); }
  Task<std::vector<Finding>> examine(Deadline deadline) override;
  Task<Status> reach(Deadline deadline) override;
  Task<Status> prove(SandboxSpec spec, Deadline deadline) override;
  Task<Result<std::vector<Belonging>>> belongings(Deadline deadline) override;
  Task<Status> remove_belongings(Deadline deadline) override;

 private:
  Task<Result<std::unique_ptr<Enclosure>>> create_with(Cleanup& cleanup, SandboxSpec spec, SandboxId id,
                                                       Deadline deadline);
  Task<Result<Pod>> request(Cleanup& cleanup, json::value body, std::string name, Deadline deadline);
  Task<Result<Pod>> wait_until_running(std::string name, Deadline deadline);
  Task<std::string> last_warning(std::string name);
  Task<Result<std::unique_ptr<Enclosure>>> take_up(Pod found, Deadline deadline);
  Task<Status> try_one(SandboxSpec spec, Deadline deadline);
  Task<Result<std::vector<Pod>>> list_pods(std::string query, Deadline deadline);
  PodParts parts_of(const Pod& pod, SandboxSpec spec, Kernel kernel) const;

  Executor executor_;
  KubernetesSettings settings_;
  std::shared_ptr<Api> api_;
  std::shared_ptr<PodWatch> watch_;
  Cluster cluster_;
  std::shared_ptr<HeldIds> held_ = std::make_shared<HeldIds>();
  std::shared_ptr<Reaper> reaper_;
};

PodParts KubernetesBackend::parts_of(const Pod& pod, SandboxSpec spec, Kernel kernel) const {
  PodParts parts;
  parts.remote.executor = executor_;
  parts.remote.api = api_;
  parts.remote.watch = watch_;
  parts.remote.pod = pod.name;
  parts.remote.uid = pod.uid;
  parts.remote.sandbox = marks::value_of(pod.labels, marks::sandbox);
  parts.spec = std::move(spec);
  parts.kernel = kernel;
  return parts;
}

Task<Result<std::unique_ptr<Enclosure>>> KubernetesBackend::create(SandboxSpec spec, Deadline deadline) {
  CLOCHE_CO_CHECK(check_spec(spec));
  if (std::string missing = missing_setting(settings_); !missing.empty())
    co_return fail(ErrorCode::invalid_argument, "the kubernetes backend cannot be used: " + missing);
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

Task<Result<std::unique_ptr<Enclosure>>> KubernetesBackend::create_with(Cleanup& cleanup, SandboxSpec spec,
                                                                        SandboxId id, Deadline deadline) {
  HeldId held(held_, id.value);
  cleanup.is_needed = false;
  CLOCHE_CO_TRY(const ClusterFacts facts, co_await cluster_.facts(deadline));
  CLOCHE_CO_TRY(PodPlan plan, plan_for(spec, facts, settings_));
  plan.id = id;
  plan.name = marks::pod_name(settings_.instance, id.value);
  if (!json::parse(write_spec(spec)))
    co_return fail(ErrorCode::invalid_argument, "paths and labels must be UTF-8 for the kubernetes backend");
  json::value body = pod_body(spec, plan, settings_);
  spec.uid = plan.uid;
  cleanup.is_needed = true;
  CLOCHE_CO_TRY(const Pod created, co_await request(cleanup, std::move(body), plan.name, deadline));
  watch_->note(created);
  fault_point<"backend.make.created">();
  auto running = co_await wait_until_running(plan.name, deadline);
  if (!running) co_return fail(std::move(running).error().at("start pod " + plan.name));
  if (running->uid != created.uid) co_return fail(ErrorCode::sandbox_lost, "another process replaced the pod");
  fault_point<"backend.make.started">();
  co_return create_enclosure(reaper_, parts_of(*running, std::move(spec), plan.kernel), std::move(held));
}

// The pod's name is this process's own choice, so a request without a response is repeated: "already exists" is then
// the response that was lost.
Task<Result<Pod>> KubernetesBackend::request(Cleanup& cleanup, json::value body, std::string name, Deadline deadline) {
  bool was_sent = false;
  std::string path = api_->pods();
  auto created = co_await api_->create(std::move(path), std::move(body), deadline, &was_sent);
  if (!created && created.error().code == ErrorCode::already_exists && was_sent) {
    std::string own = api_->pods(name);
    created = co_await api_->get(std::move(own), deadline);
  }
  // An error that is the server's own response says that there is nothing.
  const bool may_exist = created || was_sent || created.error().code == ErrorCode::unavailable ||
                         created.error().code == ErrorCode::timeout || created.error().code == ErrorCode::protocol;
  cleanup.may_come_late = !created && may_exist;
  cleanup.is_needed = may_exist;
  if (!created) co_return fail(std::move(created).error());
  co_return read_pod(*created);
}

Task<Result<Pod>> KubernetesBackend::wait_until_running(std::string name, Deadline deadline) {
  Pod last;
  std::function<bool(const Pod&)> is_settled = [](const Pod& pod) {
    return is_running(pod) || trouble_of(pod).has_value();
  };
  auto pod = co_await watch_->wait(name, std::move(is_settled), deadline, &last);
  if (!pod && pod.error().code == ErrorCode::not_found)
    co_return fail(ErrorCode::sandbox_lost, "the pod was deleted before it was ready");
  if (!pod && pod.error().code == ErrorCode::timeout && !last.name.empty()) {
    const ErrorCode code = last.unscheduled.empty() ? ErrorCode::timeout : ErrorCode::limit_reached;
    const std::string warning = co_await last_warning(name);
    co_return fail(code, delay_of(last) + (warning.empty() ? "" : " (" + warning + ")"));
  }
  if (!pod) co_return fail(std::move(pod).error());
  if (auto trouble = trouble_of(*pod)) co_return fail(std::move(*trouble));
  co_return std::move(*pod);
}

// What the node complains about: a runtime that it does not have is nowhere else.
Task<std::string> KubernetesBackend::last_warning(std::string name) {
  std::string path = "/api/v1/namespaces/" + settings_.namespace_name + "/events";
  const std::string query = "fieldSelector=" + percent_encoded("involvedObject.name=" + name + ",type=Warning");
  auto events = co_await api_->list(std::move(path), query, Deadline::after(time_for_events));
  if (!events || events->items.empty()) co_return std::string();
  co_return tidy(json::text(json::find(events->items.back(), "message")));
}

Task<Result<std::vector<Pod>>> KubernetesBackend::list_pods(std::string query, Deadline deadline) {
  std::string path = api_->pods();
  CLOCHE_CO_TRY(const Listed listed, co_await api_->list(std::move(path), std::move(query), deadline));
  std::vector<Pod> pods;
  for (const json::value& item : listed.items) {
    CLOCHE_CO_TRY(Pod pod, read_pod(item));
    // The filter is the cluster's; whose a pod is decides what happens to it.
    if (marks::value_of(pod.labels, marks::managed_by) == "cloche") pods.push_back(std::move(pod));
  }
  co_return pods;
}

Task<Result<std::vector<std::unique_ptr<Enclosure>>>> KubernetesBackend::recover(Deadline deadline) {
  CLOCHE_CO_TRY(auto found, co_await list_pods(marks::of_owner(settings_.instance), deadline));
  std::vector<std::unique_ptr<Enclosure>> living;
  for (Pod& pod : found) {
    const std::string id = marks::value_of(pod.labels, marks::sandbox);
    if (held_->contains(id) || marks::value_of(pod.labels, marks::owner) != settings_.instance.value) continue;
    const std::string name = pod.name;
    const std::string uid = pod.uid;
    // One that resists must not cost the others: each has some seconds.
    auto taken = co_await take_up(std::move(pod), Deadline::after(take_up_in_passing).sooner(deadline));
    if (taken) {
      living.push_back(std::move(*taken));
      continue;
    }
    // A cluster that is gone or hangs says nothing of any sandbox: none is lost for that.
    const ErrorCode code = taken.error().code;
    if (code == ErrorCode::unavailable || code == ErrorCode::timeout) {
      auto reached = co_await reach(Deadline::after(take_up_in_passing).sooner(deadline));
      if (!reached) co_return fail(std::move(reached).error().at("recover"));
    }
    log::warn("kubernetes: removing pod {}: {}", name, taken.error().message);
    const Deadline in_passing = Deadline::after(removal_in_passing).sooner(deadline);
    auto removed = co_await remove_pod(reaper_->removal(), name, uid, in_passing);
    if (!removed && !id.empty()) reaper_->remember(id, removed.error().message);
  }
  co_return living;
}

// A pod that a process before us made, if it still is one of ours.
Task<Result<std::unique_ptr<Enclosure>>> KubernetesBackend::take_up(Pod found, Deadline deadline) {
  const std::string id = marks::value_of(found.labels, marks::sandbox);
  if (id.empty() || found.name != marks::pod_name(settings_.instance, id))
    co_return fail(ErrorCode::sandbox_lost, "it has no valid sandbox id");
  if (!is_running(found)) co_return fail(ErrorCode::sandbox_lost, "it does not run: " + end_of(found));
  CLOCHE_CO_TRY(SandboxSpec spec, read_spec(marks::value_of(found.annotations, marks::spec_json)));
  CLOCHE_CO_TRY(spec.uid, uid_mark_of(found));
  if (found.sandbox.memory.count > 0) spec.limits.memory = found.sandbox.memory;
  const bool is_own = marks::value_of(found.annotations, marks::kernel) == "own";
  HeldId held(held_, id);
  PodParts parts = parts_of(found, std::move(spec), is_own ? Kernel::own : Kernel::elsewhere);
  const Dial dial = dial_to(parts.remote);
  CLOCHE_CO_TRY(const auto connection, co_await dial(deadline));
  connection->close();
  watch_->note(found);
  co_return create_enclosure(reaper_, std::move(parts), std::move(held));
}

Task<Status> KubernetesBackend::reach(Deadline deadline) {
  if (std::string missing = missing_setting(settings_); !missing.empty())
    co_return fail(ErrorCode::invalid_argument, "the kubernetes backend cannot be used: " + missing);
  CLOCHE_CO_CHECK(co_await api_->get("/version", deadline));
  co_return Status{};
}

Task<Status> KubernetesBackend::try_one(SandboxSpec spec, Deadline deadline) {
  auto made = co_await create(std::move(spec), deadline);
  if (!made) co_return fail(std::move(made).error());
  const std::string id = (*made)->id().value;
  // Its agent responds: the whole way works.
  auto opened = co_await LiveSandbox::open(std::move(*made), Greeting::fresh, deadline);
  if (!opened) co_return fail(std::move(opened).error());
  const Deadline in_passing = Deadline::after(removal_in_passing).sooner(deadline);
  auto gone = co_await (*opened)->destroy(in_passing);
  // It has been proved that one can be made; the rest is done next to the start.
  if (!gone) reaper_->remove(id, Reaper::Arrival::certain);
  co_return Status{};
}

Task<Status> KubernetesBackend::prove(SandboxSpec spec, Deadline deadline) {
  spec.name.clear();
  auto tried = co_await try_one(std::move(spec), deadline);
  // A missing image proves nothing.
  if (!tried && tried.error().code == ErrorCode::not_found) co_return Status{};
  co_return tried;
}

Task<std::vector<Finding>> KubernetesBackend::examine(Deadline deadline) {
  const std::string missing = missing_setting(settings_);
  if (!missing.empty()) co_return unconfigured_findings(missing);
  auto facts = co_await cluster_.facts(deadline);
  std::vector<Finding> findings = cluster_findings(api_->describe(), settings_, facts);
  if (!facts) co_return findings;
  for (const Right& right : needed_rights()) {
    json::value question = review_body(right, settings_.namespace_name);
    auto answer =
        co_await api_->create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", std::move(question), deadline);
    findings.push_back(right_finding(right, settings_.namespace_name, answer));
  }
  std::string policies = "/apis/networking.k8s.io/v1/namespaces/" + settings_.namespace_name + "/networkpolicies";
  auto listed = co_await api_->list(std::move(policies), "", deadline);
  findings.push_back(policy_finding(settings_.namespace_name, listed));
  SandboxSpec spec;
  // The agent's own image has all that a trial needs.
  spec.image = settings_.agent_image;
  const auto start = Deadline::Clock::now();
  auto tried = co_await try_one(std::move(spec), deadline);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::Clock::now() - start);
  findings.push_back(trial_finding(tried, took));
  co_return findings;
}

Task<Result<std::vector<Belonging>>> KubernetesBackend::belongings(Deadline deadline) {
  std::vector<Belonging> all;
  // Without these the backend is not in use.
  if (!missing_setting(settings_).empty()) co_return all;
  CLOCHE_CO_TRY(const auto found, co_await list_pods(marks::of_all(), deadline));
  for (const Pod& pod : found) {
    Belonging belonging;
    belonging.owner = marks::value_of(pod.labels, marks::owner);
    if (belonging.owner.empty()) continue;
    belonging.kind = "pod";
    belonging.name = settings_.namespace_name + "/" + pod.name + " (" + pod.phase + ")";
    belonging.owner_name = marks::value_of(pod.annotations, marks::instance);
    all.push_back(std::move(belonging));
  }
  co_return all;
}

Task<Status> KubernetesBackend::remove_belongings(Deadline deadline) {
  CLOCHE_CO_TRY(const auto found, co_await list_pods(marks::of_owner(settings_.instance), deadline));
  Status result;
  for (const Pod& pod : found) {
    if (marks::value_of(pod.labels, marks::owner) != settings_.instance.value) continue;
    auto removed = co_await remove_pod(reaper_->removal(), pod.name, pod.uid, deadline);
    if (!removed && result) result = std::move(removed);  // one that resists must not cost the others
  }
  co_return result;
}

}  // namespace

Result<std::unique_ptr<Backend>> create_kubernetes_backend(Executor executor, asio::thread_pool& pool,
                                                           KubernetesSettings settings) {
  CLOCHE_CHECK(kubernetes::validate(settings));
  return std::make_unique<KubernetesBackend>(std::move(executor), pool, std::move(settings));
}

}  // namespace cloche
