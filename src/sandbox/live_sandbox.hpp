// LiveSandbox: the walls of a backend plus the conversation with the agent inside. The same on every backend.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/async/task.hpp"
#include "sandbox/agent_link.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/egress_listener.hpp"
#include "sandbox/exec.hpp"
#include "sandbox/files.hpp"
#include "sandbox/tcp_connection.hpp"
#include "sandbox/users.hpp"

namespace cloche {

struct BackgroundEntry {
  std::uint64_t id = 0;
  std::uint32_t pid = 0;
  std::vector<std::string> argv;
  bool running = false;
  std::chrono::milliseconds age{};
  std::string label;  // of start_relayed(); empty for others
};

// The result of a reset.
struct ResetReport {
  std::uint32_t killed = 0;
  std::uint64_t removed = 0;
};

// The destructor does not destroy the sandbox but leaves it to `recover`. See destroy().
class LiveSandbox {
 public:
  // Talks to the agent within the spec's ready_timeout. An enclosure whose agent does not answer is destroyed.
  static Task<Result<std::unique_ptr<LiveSandbox>>> open(std::unique_ptr<Enclosure> enclosure, Greeting greeting,
                                                         Deadline deadline);

  const SandboxId& id() const { return enclosure_->id(); }
  const SandboxSpec& spec() const { return enclosure_->spec(); }
  std::string runtime() const { return enclosure_->runtime(); }
  Kernel kernel() const { return enclosure_->kernel(); }

  // Starts a program. With Stdin::bytes the input is sent while the output is read.
  Task<Result<std::unique_ptr<Exec>>> start(ExecSpec spec, Deadline deadline = Deadline::never());
  // What can be sent together with a start, in one message.
  using StartFile = wire::StartFile;
  static constexpr std::size_t largest_start_file = 256 * 1024;
  struct StartExtras {
    // Written first. An error of the writing comes with the exec's first event.
    std::optional<StartFile> file;
    // A scan for changes in a tree while the program runs, as by Files::mark and Files::changes. See Exec::seen. Not
    // for programs in the background.
    struct ChangeScan {
      FilePath place;
      ChangeCaps caps;
      std::string discard;
    };
    std::optional<ChangeScan> change_scan;
  };
  Task<Result<std::unique_ptr<Exec>>> start(ExecSpec spec, StartExtras extras, Deadline deadline);
  // Starts a program in the background whose output is not kept: those that attach get all of it from then on, and slow
  // the program down if they do not read. Before the first attach() the program waits; while no stream is attached any
  // more, all but the last 256 KiB is dropped. `label`, at most 4 KiB, is the caller's note, returned by
  // list_background().
  Task<Result<std::unique_ptr<Exec>>> start_relayed(ExecSpec spec, std::string label, Deadline deadline);
  // Runs a program to its end. The deadline is the caller's own, over the program's limits: when it passes, the
  // program is stopped and the answer is a timeout error.
  Task<Result<Exec::Collected>> run(ExecSpec spec, Deadline deadline = Deadline::never());

  Task<Result<std::vector<BackgroundEntry>>> list_background(Deadline deadline = Deadline::never());
  // Output kept so far and all further output, from these offsets on; then the outcome. With `collect`, the agent drops
  // the exec after it has reported its end. More than `most` bytes of an output are an error of the agent (0: no cap).
  enum class AfterEnd { keep, collect };
  Task<Result<std::unique_ptr<Exec>>> attach(std::uint64_t background_id, AfterEnd after_end,
                                             std::uint64_t out_offset = 0, std::uint64_t err_offset = 0,
                                             Bytes most = {});

  // File operations of the sandbox's own user, and of another.
  Files files() { return Files(*link_, uid_of(spec()), spec().gid); }
  Files files_of(const SandboxUser& user) { return Files(*link_, user.uid, user.gid); }
  // By name; empty: the sandbox's own. not_found for another name, and for root unless spec().root.
  Result<SandboxUser> user(std::string_view name) const { return find_user(spec(), name); }

  // To a port of the sandbox's loopback.
  Task<Result<std::unique_ptr<TcpConnection>>> connect(std::uint16_t port, Deadline deadline = Deadline::never());

  // Lets the agent accept connections of programs to the outside, which the caller then takes or refuses. One listener
  // at a time: already_exists. already_exists also if a program listens on one of the ports. unsupported for an agent
  // that is too old, and for a transparent listener in a sandbox that is not prepared for one. It must be closed before
  // reset(), which otherwise fails.
  Task<Result<std::unique_ptr<EgressListener>>> open_egress(EgressListenSpec spec, Deadline deadline);
  // Whether connections of programs that use no proxy can be offered. See SandboxSpec::egress.
  bool has_transparent_egress() const { return enclosure_->has_transparent_egress(); }

  // Starts a Python interpreter that has these modules imported; runs are forked from it (ExecSpec::zygote).
  Task<Status> start_zygote(std::string name, std::string interpreter, std::vector<std::string> imports,
                            Deadline deadline);
  // The same with a harness: Python source that defines run(), which each fork calls in place of the file argv[0].
  Task<Status> start_zygote(std::string name, std::string interpreter, std::vector<std::string> imports,
                            std::string harness, Deadline deadline);

  // Adds volumes, before the first program. Their targets are made. After an error the sandbox is not to be used.
  Task<Status> attach(std::vector<MountedVolume> volumes, Deadline deadline);
  std::vector<VolumeMount> volumes() const { return enclosure_->volumes(); }

  // Makes it as good as new. An error means that it is not, and the sandbox must be destroyed. One with volumes is
  // never reset: that would delete their files.
  Task<Result<ResetReport>> reset(Deadline deadline);

  // Memory, cpus, pids and what is asked of each program; the sizes of its directories are fixed.
  Task<Status> set_limits(Limits limits);
  // The current limits.
  const Limits& limits() const { return limits_; }
  // Stops all that runs inside, the agent too, until thaw(). Calls under way wait, and their deadlines with them. Both
  // are idempotent. After an error of freeze() it may be frozen or not, and is to be thawed.
  Task<Status> freeze(Deadline deadline);
  Task<Status> thaw(Deadline deadline);
  // What the backend measures from outside. Works while it is frozen.
  Task<Result<ResourceUse>> resource_use(Deadline deadline) { return enclosure_->resource_use(deadline); }
  // The same with the use of the disk, which the agent reports: not while it is frozen. Without an answer of the agent
  // it is not known.
  Task<Result<ResourceUse>> resource_and_disk_use(Deadline deadline);
  Task<Result<Evidence>> evidence() { return enclosure_->evidence(); }
  Task<Status> ping(Deadline deadline) { return link_->ping(deadline); }

  // Why it is gone; nullopt while it lives.
  std::optional<Error> lost() const { return link_->lost(); }
  // Called once when the sandbox dies by itself, on the thread that owns all state.
  void on_lost(std::function<void()> tell) { link_->on_lost(std::move(tell)); }
  // From now on every call and every running exec fails with this error. destroy() follows.
  void cut_off(Error why) { link_->cut_off(std::move(why)); }

  // Ends it and removes every trace. Not cancellable.
  Task<Status> destroy(Deadline deadline);

  // Lets go of the sandbox without ending it.
  Task<> release() { return link_->shut_down(); }

  LiveSandbox(const Executor& executor, std::shared_ptr<Enclosure> enclosure, std::unique_ptr<AgentLink> link);

 private:
  std::unique_ptr<Exec> guarded(std::unique_ptr<Exec> exec);

  std::shared_ptr<Enclosure> enclosure_;
  std::shared_ptr<OomLedger> ledger_;
  std::shared_ptr<MemoryGuard> guard_;  // where the sandbox has a kernel of its own
  std::unique_ptr<AgentLink> link_;
  Limits limits_;
};

}  // namespace cloche
