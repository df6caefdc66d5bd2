#include "backend/e2b/enclosure.hpp"

#include "backend/e2b/keeper.hpp"
#include "core/async/shielded.hpp"
#include "sandbox/resumable_channel.hpp"

namespace cloche::e2b {

namespace {

class RemoteEnclosure final : public Enclosure {
 public:
  RemoteEnclosure(std::shared_ptr<Reaper> reaper, RemoteParts parts, HeldId held)
      : reaper_(std::move(reaper)),
        remote_(std::move(parts.remote)),
        id_{remote_.sandbox},
        spec_(std::move(parts.spec)),
        channel_(remote_.executor, dial_to(remote_), remote_.sandbox),
        keeper_(remote_),
        held_(std::move(held)) {}
  ~RemoteEnclosure() override {
    if (!resists_because_.empty()) reaper_->remember(id_.value, resists_because_);
  }

  const SandboxId& id() const override { return id_; }
  const SandboxSpec& spec() const override { return spec_; }
  std::string runtime() const override { return "e2b"; }
  Kernel kernel() const override { return Kernel::elsewhere; }
  Channel& channel() override { return channel_; }
  bool can_be_reset() const override { return false; }

  Task<Status> set_limits(const Limits& limits) override;
  Task<Status> freeze(Deadline) override;
  // A service has no such counters.
  Task<Result<Evidence>> evidence() override { co_return Evidence{}; }
  bool has_cheap_evidence() const override { return true; }
  Task<Status> destroy(Deadline deadline) override;

 private:
  std::shared_ptr<Reaper> reaper_;
  Remote remote_;
  SandboxId id_;
  SandboxSpec spec_;
  ResumableChannel channel_;
  Keeper keeper_;
  HeldId held_;
  std::string resists_because_;  // the last destroy() failed
};

Task<Status> RemoteEnclosure::set_limits(const Limits& limits) {
  const Limits& has = spec_.limits;
  if (limits.memory != has.memory || limits.cpus != has.cpus) {
    co_return fail(ErrorCode::unsupported, "sandbox " + id_.value +
                                               ": memory and cpus of a sandbox on E2B are those of its template; leave "
                                               "them out, or use another template");
  }
  // Processes are limited inside, by what each program is started with.
  spec_.limits.pids = limits.pids;
  co_return Status{};
}

Task<Status> RemoteEnclosure::freeze(Deadline) {
  co_return fail(ErrorCode::unsupported,
                 "a sandbox on E2B cannot be paused by Cloche: E2B would keep it without end if this server did not "
                 "come back");
}

Task<Status> RemoteEnclosure::destroy(Deadline deadline) {
  keeper_.stop();
  auto work = [this, deadline]() -> Task<Status> {
    co_await channel_.shut_down();
    auto gone = co_await remove_for_good(remote_.control, remote_.id, deadline);
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

std::unique_ptr<Enclosure> create_enclosure(std::shared_ptr<Reaper> reaper, RemoteParts parts, HeldId held) {
  return std::make_unique<RemoteEnclosure>(std::move(reaper), std::move(parts), std::move(held));
}

Limits with_template(Limits limits, const RemoteSandbox& sandbox) {
  // A service that does not say what its template has leaves the smallest figure that Cloche knows. They are for
  // people; the service enforces its own.
  limits.memory = sandbox.memory.count > 0 ? sandbox.memory : mib(8);
  limits.cpus = sandbox.cpus > 0 ? sandbox.cpus : 1;
  const Bytes disk = sandbox.disk.count > 0 ? sandbox.disk : limits.memory;
  limits.work_dir = disk;
  limits.tmp_dir = disk;
  limits.shm_dir = Bytes{limits.memory.count / 2};
  return limits;
}

}  // namespace cloche::e2b
