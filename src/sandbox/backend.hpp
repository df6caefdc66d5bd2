// Backend and Enclosure: what makes sandboxes, and what one of them is made of.
//
// A backend isolates the sandbox and provides the channel; everything inside the sandbox is controlled over the channel
// and is the same for every backend (see sandbox/live_sandbox.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/async/task.hpp"
#include "core/ids.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/kernel.hpp"
#include "sandbox/memory_guard.hpp"
#include "sandbox/spec.hpp"
#include "sandbox/unremoved.hpp"
#include "sandbox/volume_mount.hpp"

namespace cloche {

// What the kernel or the engine counted for the whole sandbox.
struct Evidence {
  std::uint64_t oom_kills = 0;
  std::optional<Bytes> memory_peak;
  std::uint64_t refused_forks = 0;  // at the limit of processes and threads of the host; 0 if they are not counted
};

// What the whole sandbox uses.
struct ResourceUse {
  std::chrono::microseconds cpu_time{};  // since it was created
  Bytes memory;                          // in use, without the page cache
  Bytes cache;                           // the page cache
  std::optional<Bytes> disk;             // what the file system of the work directory has in use; nullopt: not known
};

// TCP listeners on a sandbox's loopback that are this process's own: no process inside has a copy of them, or of a
// socket that they accept. Non-blocking.
struct InsideListeners {
  UniqueFd proxy;
  std::vector<UniqueFd> redirected;  // of IPv4, and of IPv6 where the kernel has it
};

// The walls of one sandbox. Destroying the object does not destroy the sandbox: it closes the channel and leaves the
// sandbox to `recover`. destroy() ends it.
class Enclosure {
 public:
  virtual ~Enclosure() = default;

  virtual const SandboxId& id() const = 0;
  virtual const SandboxSpec& spec() const = 0;
  virtual std::string runtime() const = 0;
  virtual Kernel kernel() const = 0;
  virtual Channel& channel() = 0;

  // Variables of every program that its caller does not set, such as where the libraries of a GPU's driver are.
  virtual std::map<std::string, std::string> environment() const { return {}; }

  // Whether a reset can be proved. Otherwise the sandbox can only be destroyed.
  virtual bool can_be_reset() const { return true; }

  // After a reset that the agent calls clean: what only the outside can see of it, such as a GPU that is still open.
  virtual Task<Status> check_reset() { co_return Status{}; }

  // Adds volumes to a living sandbox in which no program runs; their targets outside of /volumes exist. Once. After an
  // error the sandbox is not to be used. unsupported, with what to do, where that is impossible; see
  // Backend::volume_time().
  virtual Task<Status> attach(std::vector<MountedVolume>) {
    co_return fail(ErrorCode::unsupported, "this backend has no volumes; use a profile of the backend oci");
  }
  // Those that it has, or may have: what an earlier process added is known, too.
  virtual std::vector<VolumeMount> volumes() const { return {}; }

  // Changes memory, cpus and pids of a living sandbox, all or none.
  virtual Task<Status> set_limits(const Limits& limits) = 0;

  // Stops all processes of the sandbox, also the agent, and releases memory if it can; thaw() lets them go on. Both are
  // idempotent. A frozen sandbox does not respond, can be destroyed, and is thawed by `recover`.
  virtual Task<Status> freeze(Deadline) {
    co_return fail(ErrorCode::unsupported, "this backend cannot pause a sandbox");
  }
  virtual Task<Status> thaw(Deadline) { co_return Status{}; }

  // What it uses now.
  virtual Task<Result<ResourceUse>> resource_use(Deadline) {
    co_return fail(ErrorCode::unsupported, "this backend does not measure what a sandbox uses");
  }

  // Counters so far. Also answers for a sandbox that has just died, until destroy().
  virtual Task<Result<Evidence>> evidence() = 0;
  // Whether that is a matter of microseconds, and so can be asked for after every exec.
  virtual bool has_cheap_evidence() const = 0;

  // How much memory is in use, where reading that is a matter of microseconds.
  virtual std::optional<MemoryUse> memory_use() { return std::nullopt; }

  // Whether connections of programs to any address arrive at the agent's ports; see wire/egress_messages.hpp.
  virtual bool has_transparent_egress() const { return false; }

  // Whether listen_inside() is possible.
  virtual bool can_listen_inside() const { return false; }
  // Listens in the sandbox's network for clients of the proxy, and for connections that are redirected. already_exists
  // if a port is in use. Any other error means that the agent has to listen.
  virtual Task<Result<InsideListeners>> listen_inside(std::uint16_t /*proxy_port*/, bool /*redirected*/) {
    co_return fail(ErrorCode::unsupported, "this backend cannot listen in the network of a sandbox");
  }

  // Ends all that runs inside and removes every trace: processes, mounts, cgroups, directories, uid range. Idempotent.
  // Not cancellable; bounded by the deadline, after which what is left is named in the error and is found by `recover`.
  virtual Task<Status> destroy(Deadline deadline) = 0;
};

// One thing that a host can or cannot do, for `doctor`.
struct Finding {
  enum class Level { good, warning, missing };
  std::string name;
  Level level = Level::good;
  std::string detail;
  std::string advice;  // what to do about it, when it is not good
};

// Whose sandboxes they are. Everything that is made carries the id, and only what carries it is ever touched.
struct InstanceId {
  std::string value;  // random, made once; see host/identity_file.hpp
  std::string name;   // for people; two instances may have the same one
  std::string place;  // the directory that keeps the id; empty when nothing keeps it
};

// Something on this host, or in this engine, that carries an owner's id.
struct Belonging {
  std::string owner;  // the id; of what an older Cloche made, the instance's name
  std::string kind;   // cgroup, uid range, directory, mount, container
  std::string name;
  std::string owner_name;  // the instance's name, where it is noted
  std::string place;       // the directory that keeps the id, where it is noted
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  // Whether it rejects a spec without an image.
  virtual bool needs_image() const { return false; }
  // Whether its sandboxes can be reset; see Enclosure::can_be_reset().
  virtual bool can_reset() const { return true; }

  // Makes a sandbox whose agent is started; it has not said `ready` yet. Whatever fails on the way is taken back.
  virtual Task<Result<std::unique_ptr<Enclosure>>> create(SandboxSpec spec, Deadline deadline) = 0;

  // When a sandbox like this one can get volumes.
  virtual Task<Result<VolumeTime>> volume_time(SandboxSpec, Deadline) { co_return VolumeTime::while_running; }
  // create() with volumes, which the sandbox has from its start. Where volume_time() is at_creation.
  virtual Task<Result<std::unique_ptr<Enclosure>>> create_with_volumes(SandboxSpec, std::vector<MountedVolume>,
                                                                       Deadline) {
    co_return fail(ErrorCode::unsupported, "this backend has no volumes; use a profile of the backend oci");
  }

  // All living sandboxes that this instance created, in this process or an earlier one, with reopened channels (the
  // link must resynchronise). Partially created or removed sandboxes of this instance are removed. Those of other
  // instances are left alone. A sandbox that cannot be removed, or does not respond, costs some seconds and nothing
  // else: it is then in unremoved().
  virtual Task<Result<std::vector<std::unique_ptr<Enclosure>>>> recover(Deadline deadline) = 0;

  // Sandboxes of this instance that could not be removed and have no Enclosure any more.
  virtual std::vector<Unremoved> unremoved() const { return {}; }
  // Tries again to remove those whose time has come, each for a few seconds. To be called every now and then.
  virtual Task<> retry_removals() { co_return; }

  virtual Task<std::vector<Finding>> examine(Deadline deadline) = 0;

  // Proves that sandboxes like this one can be created here: creates one and removes it, or checks all that it needs. A
  // problem with the host, its runtime or its engine is the error. A missing image proves nothing.
  virtual Task<Status> prove(SandboxSpec, Deadline) { co_return Status{}; }

  // Removes what a Cloche without owner ids made for an instance of this name, as far as it has one of these names:
  // those in this instance's own journal. A name alone proves nothing.
  virtual Task<Status> remove_former(std::vector<std::string>, Deadline) { co_return Status{}; }

  // Everything that carries the id of any owner.
  virtual Task<Result<std::vector<Belonging>>> belongings(Deadline) { co_return std::vector<Belonging>{}; }
  // Removes all that carries this instance's id. Only for an instance that no living process has.
  virtual Task<Status> remove_belongings(Deadline) { co_return Status{}; }

  // `unavailable` when an engine that it needs does not answer. A backend without one has nothing to ask.
  virtual Task<Status> reach(Deadline) { co_return Status{}; }
};

}  // namespace cloche
