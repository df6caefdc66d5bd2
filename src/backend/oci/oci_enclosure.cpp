#include "backend/oci/oci_enclosure.hpp"

#include "backend/oci/network/inside_listeners.hpp"
#include "backend/oci/root/volumes.hpp"
#include "backend/oci/uncancelled.hpp"
#include "core/fault_point.hpp"

namespace cloche::oci {

namespace {

class OciEnclosure final : public Enclosure {
 public:
  OciEnclosure(Executor executor, asio::thread_pool& pool, std::shared_ptr<Host> host, MadeSandbox made)
      : pool_(pool),
        host_(std::move(host)),
        record_(std::move(made.record)),
        channel_(std::move(executor), std::move(made.ends)) {}
  ~OciEnclosure() override {
    if (!resists_because_.empty()) {
      host_->unremoved().failed(record_.id.value, resists_because_, Deadline::Clock::now());
    }
  }

  const SandboxId& id() const override { return record_.id; }
  const SandboxSpec& spec() const override { return record_.spec; }
  std::string runtime() const override { return record_.runtime; }
  Kernel kernel() const override {
    const RuntimeTraits* traits = find_runtime(record_.runtime_kind);
    return traits == nullptr ? Kernel::shared : traits->kernel;
  }
  Channel& channel() override { return channel_; }
  bool has_transparent_egress() const override { return record_.redirects; }

  // gVisor has a network of its own, which is not the kernel's.
  bool can_listen_inside() const override { return kernel() == Kernel::shared; }
  Task<Result<InsideListeners>> listen_inside(std::uint16_t proxy_port, bool redirected) override {
    if (destroyed_) co_return fail(gone());
    auto work = [first = record_.first, proxy_port, redirected]() -> Result<InsideListeners> {
      return listen_in_network_of(first, proxy_port, redirected);
    };
    auto listeners = co_await run_blocking_to_the_end(pool_, std::move(work));
    co_return listeners;
  }

  std::map<std::string, std::string> environment() const override { return record_.gpus.env; }

  Task<Status> check_reset() override {
    if (destroyed_) co_return fail(gone());
    if (record_.gpus.empty()) co_return Status{};
    auto work = [host = host_, id = record_.id.value, gpus = record_.gpus]() -> Status {
      return prove_released(host->cgroups()->at(id), gpus);
    };
    Status proved = co_await run_blocking_to_the_end(pool_, std::move(work));
    co_return proved;
  }

  Task<Status> attach(std::vector<MountedVolume> volumes) override {
    if (destroyed_) co_return fail(gone());
    if (kernel() == Kernel::own) {
      co_return fail(ErrorCode::unsupported,
                     "a sandbox of the runtime " + record_.runtime + " gets its volumes when it is created; retry");
    }
    // From now on it may have them, whatever happens.
    for (const MountedVolume& each : volumes) record_.volumes.push_back(each.volume);
    auto work = [host = host_, record = record_, volumes = std::move(volumes)]() -> Status {
      CLOCHE_CHECK(write_record(host->files_of(record.id.value).record, record));
      fault_point<"backend.volumes.journalled">();
      const UidRange uids{record.uid_slot.value_or(0)};
      const VolumeUsers users{.uid = uids.first() + uid_of(record.spec), .gid = uids.first() + record.spec.gid};
      return attach_volumes(record.first, users, volumes);
    };
    Status attached = co_await run_blocking_to_the_end(pool_, std::move(work));
    co_return attached;
  }
  std::vector<VolumeMount> volumes() const override { return record_.volumes; }

  Task<Status> set_limits(const Limits& limits) override {
    SandboxRecord changed = record_;
    changed.spec.limits.memory = limits.memory;
    changed.spec.limits.cpus = limits.cpus;
    changed.spec.limits.pids = limits.pids;
    CLOCHE_CO_CHECK(validate(changed.spec.limits));
    if (destroyed_) co_return fail(gone());
    auto work = [host = host_, former = record_.spec.limits, changed]() -> Status {
      return apply(*host, former, changed);
    };
    Status applied = co_await run_blocking_to_the_end(pool_, std::move(work));
    if (applied) record_.spec.limits = changed.spec.limits;
    co_return applied;
  }

  Task<Status> freeze(Deadline deadline) override {
    if (destroyed_) co_return fail(gone());
    auto work = [host = host_, id = record_.id.value, deadline]() -> Status {
      const Cgroup cgroup = host->cgroups()->at(id);
      CLOCHE_CHECK(cgroup.freeze(deadline));
      fault_point<"backend.freeze.frozen">();
      cgroup.release_memory();
      return {};
    };
    Status frozen = co_await run_blocking_to_the_end(pool_, std::move(work));
    if (!frozen) co_return fail(std::move(frozen).error().at("freeze sandbox " + record_.id.value));
    co_return frozen;
  }
  Task<Status> thaw(Deadline deadline) override {
    if (destroyed_) co_return fail(gone());
    auto work = [host = host_, id = record_.id.value, deadline]() -> Status {
      return host->cgroups()->at(id).thaw(deadline);
    };
    Status thawed = co_await run_blocking_to_the_end(pool_, std::move(work));
    if (!thawed) co_return fail(std::move(thawed).error().at("thaw sandbox " + record_.id.value));
    co_return thawed;
  }

  Task<Result<ResourceUse>> resource_use(Deadline) override {
    if (destroyed_) co_return fail(gone());
    co_return host_->cgroups()->at(record_.id.value).resource_use();
  }

  Task<Result<Evidence>> evidence() override {
    if (destroyed_) co_return fail(gone());
    // Two counters out of the kernel's memory: another thread would take longer to wake than this takes.
    co_return host_->cgroups()->at(record_.id.value).evidence();
  }
  bool has_cheap_evidence() const override { return true; }

  std::optional<MemoryUse> memory_use() override {
    if (destroyed_) return std::nullopt;
    const auto used = host_->cgroups()->at(record_.id.value).memory_in_use();
    if (!used) return std::nullopt;
    return MemoryUse{*used, record_.spec.limits.memory};
  }

  Task<Status> destroy(Deadline deadline) override {
    if (destroyed_) co_return Status{};
    auto work = [host = host_, id = record_.id.value, deadline]() -> Status {
      return remove_sandbox(*host, id, deadline);
    };
    Status removed = co_await run_blocking_to_the_end(pool_, std::move(work));
    if (!removed) {
      resists_because_ = removed.error().message;
      co_return fail(std::move(removed).error().at("destroy sandbox " + record_.id.value));
    }
    resists_because_.clear();
    destroyed_ = true;
    channel_.close();
    co_return Status{};
  }

 private:
  Error gone() const { return {ErrorCode::sandbox_lost, "sandbox " + record_.id.value + " has been destroyed"}; }

  // The cgroup and the journal, both or none.
  static Status apply(Host& host, const Limits& former, const SandboxRecord& changed) {
    const RuntimeTraits* traits = find_runtime(changed.runtime_kind);
    if (traits == nullptr) return fail(ErrorCode::internal, "unknown kind of runtime " + changed.runtime_kind);
    const Cgroup cgroup = host.cgroups()->at(changed.id.value);
    CLOCHE_TRY(const CgroupLimits wanted, cgroup_limits_for(changed.spec.limits, *traits));
    CLOCHE_TRY(const CgroupLimits before, cgroup_limits_for(former, *traits));
    CLOCHE_CHECK(cgroup.set_limits(wanted));
    Status written = write_record(host.files_of(changed.id.value).record, changed);
    if (!written) (void)cgroup.set_limits(before);
    return written;
  }

  asio::thread_pool& pool_;
  std::shared_ptr<Host> host_;
  SandboxRecord record_;
  FifoChannel channel_;
  bool destroyed_ = false;
  std::string resists_because_;  // the last destroy() failed
};

}  // namespace

std::unique_ptr<Enclosure> create_oci_enclosure(Executor executor, asio::thread_pool& pool, std::shared_ptr<Host> host,
                                                MadeSandbox made) {
  return std::make_unique<OciEnclosure>(std::move(executor), pool, std::move(host), std::move(made));
}

}  // namespace cloche::oci
