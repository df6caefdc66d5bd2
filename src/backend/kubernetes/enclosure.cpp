#include "backend/kubernetes/enclosure.hpp"

#include "backend/kubernetes/pod/pod_spec.hpp"
#include "core/async/shielded.hpp"

namespace cloche::kubernetes {

namespace {

using namespace std::chrono_literals;

constexpr auto time_to_resize = 30s;
constexpr auto time_to_examine = 10s;
// A kubelet reports the end of a container a moment after it.
constexpr auto time_to_report = 5s;

class PodEnclosure final : public Enclosure {
 public:
  PodEnclosure(std::shared_ptr<Reaper> reaper, PodParts parts, HeldId held)
      : reaper_(std::move(reaper)),
        remote_(std::move(parts.remote)),
        id_{remote_.sandbox},
        spec_(std::move(parts.spec)),
        kernel_(parts.kernel),
        channel_(remote_.executor, dial_to(remote_), remote_.sandbox),
        held_(std::move(held)) {}
  ~PodEnclosure() override {
    if (!resists_because_.empty()) reaper_->remember(id_.value, resists_because_);
  }

  const SandboxId& id() const override { return id_; }
  const SandboxSpec& spec() const override { return spec_; }
  std::string runtime() const override { return spec_.runtime == "auto" ? "kubernetes" : spec_.runtime; }
  Kernel kernel() const override { return kernel_; }
  Channel& channel() override { return channel_; }

  Task<Status> set_limits(const Limits& limits) override;
  Task<Status> freeze(Deadline) override;
  Task<Result<Evidence>> evidence() override;
  bool has_cheap_evidence() const override { return false; }
  Task<Status> destroy(Deadline deadline) override;

 private:
  std::shared_ptr<Reaper> reaper_;
  Remote remote_;
  SandboxId id_;
  SandboxSpec spec_;
  Kernel kernel_;
  ResumableChannel channel_;
  HeldId held_;
  std::string resists_because_;  // the last destroy() failed
};

Task<Status> PodEnclosure::set_limits(const Limits& limits) {
  const std::string step = "change the limits of sandbox " + id_.value;
  if (limits.memory != spec_.limits.memory || limits.cpus != spec_.limits.cpus) {
    const Deadline deadline = Deadline::after(time_to_resize);
    std::string path = remote_.api->pods(remote_.pod, "resize");
    json::value body = resize_body(limits);
    auto patched = co_await remote_.api->patch(std::move(path), Api::PatchType::merge, std::move(body), deadline);
    if (!patched && patched.error().code == ErrorCode::not_found) {
      co_return fail(ErrorCode::unsupported, step + ": the cluster cannot resize pods; it needs Kubernetes 1.33 (" +
                                                 patched.error().message + ")");
    }
    if (!patched) co_return fail(std::move(patched).error().at(step));
    const Bytes memory = limits.memory;
    const std::string cpu = cpu_quantity(limits.cpus);
    Pod last;
    std::function<bool(const Pod&)> is_settled = [memory, cpu](const Pod& pod) {
      return has_ended(pod) || !pod.resize.empty() || (pod.sandbox.memory == memory && pod.sandbox.cpu == cpu);
    };
    auto settled = co_await remote_.watch->wait(remote_.pod, std::move(is_settled), deadline, &last);
    const bool is_refused = !settled || !settled->resize.empty();
    if (is_refused) {
      // All or none: the old limits are wanted again.
      const std::string why = settled ? settled->resize : settled.error().message;
      std::string again = remote_.api->pods(remote_.pod, "resize");
      json::value former = resize_body(spec_.limits);
      auto undone = co_await remote_.api->patch(std::move(again), Api::PatchType::merge, std::move(former),
                                                Deadline::after(time_to_resize));
      co_return fail(ErrorCode::limit_reached, step + ": " + why + (undone ? "" : "; and " + undone.error().message));
    }
    if (has_ended(*settled)) co_return fail(ErrorCode::sandbox_lost, step + ": " + end_of(*settled));
  }
  // Processes are limited inside, by what each program is started with.
  spec_.limits.memory = limits.memory;
  spec_.limits.cpus = limits.cpus;
  spec_.limits.pids = limits.pids;
  co_return Status{};
}

Task<Status> PodEnclosure::freeze(Deadline) {
  co_return fail(ErrorCode::unsupported, "a sandbox on Kubernetes cannot be paused: the cluster has no such call");
}

// The agent counts kills for memory itself. Only if it was killed with the rest is the cluster the witness.
Task<Result<Evidence>> PodEnclosure::evidence() {
  Evidence evidence;
  const bool may_have_ended = channel_.has_ended();
  std::function<bool(const Pod&)> is_enough = [may_have_ended](const Pod& pod) {
    return !may_have_ended || has_ended(pod);
  };
  Pod last;
  auto pod = co_await remote_.watch->wait(remote_.pod, std::move(is_enough),
                                          Deadline::after(may_have_ended ? time_to_report : time_to_examine), &last);
  if (last.uid == remote_.uid && was_out_of_memory(last)) {
    evidence.oom_kills = 1;
    evidence.memory_peak = spec_.limits.memory;  // all of it was in use
  }
  co_return evidence;
}

Task<Status> PodEnclosure::destroy(Deadline deadline) {
  auto work = [this, deadline]() -> Task<Status> {
    co_await channel_.shut_down();
    auto gone = co_await remove_pod(reaper_->removal(), remote_.pod, remote_.uid, deadline);
    co_return gone;
  };
  auto removed = co_await shielded(std::move(work));
  if (!removed) {
    resists_because_ = removed.error().message;
    co_return fail(std::move(removed).error().at("destroy sandbox " + id_.value));
  }
  resists_because_.clear();
  co_return Status{};
}

}  // namespace

std::unique_ptr<Enclosure> create_enclosure(std::shared_ptr<Reaper> reaper, PodParts parts, HeldId held) {
  return std::make_unique<PodEnclosure>(std::move(reaper), std::move(parts), std::move(held));
}

}  // namespace cloche::kubernetes
