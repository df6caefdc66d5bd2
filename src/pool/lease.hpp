// Lease: a sandbox leased from a pool, with what its claim has bound to it. Releasing it cannot fail.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "egress/books/books.hpp"
#include "egress/policy/policy.hpp"
#include "pool/policy.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::pool {

class WarmPool;

// What a claim has bound: it applies to every program that runs through the lease.
struct Binding {
  std::map<std::string, std::string> env;  // secrets among it
  std::string work_dir;                    // absolute
  egress::Policy network;                  // what programs can reach

  // The program's own settings win.
  void apply_to(ExecSpec& spec) const;
};

// Released by the destructor, also on exceptions. Used on the thread that owns all state. A lease that the pool has
// ended (running_timeout, shutdown) is safe to use: every call fails with sandbox_lost.
class Lease {
 public:
  Lease() = default;  // none
  Lease(std::weak_ptr<WarmPool> pool, SlotId slot, ClaimId claim, std::shared_ptr<LiveSandbox> sandbox,
        Binding binding);
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { give_back(); }

  explicit operator bool() const { return sandbox_ != nullptr; }
  LiveSandbox& operator*() const { return *sandbox_; }
  LiveSandbox* operator->() const { return sandbox_.get(); }
  // For users that may still use it when the lease ends.
  const std::shared_ptr<LiveSandbox>& shared() const { return sandbox_; }
  const Binding& binding() const { return binding_; }
  // After a takeover, when what was bound is not known to the sandbox.
  void rebind(Binding binding) { binding_ = std::move(binding); }

  // Binds this in place of what was bound, and makes its network that of the sandbox: the way out is opened, changed or
  // closed. On an error the former binding stays; `unsupported` if the agent is too old. One call at a time.
  Task<Status> change_network(Binding binding, Deadline deadline);
  // Events of the sandbox's connections; none if it has never had a network.
  std::shared_ptr<egress::Books> egress_books() const;

  // Like those of LiveSandbox, with what was bound.
  Task<Result<std::unique_ptr<Exec>>> start(ExecSpec spec, Deadline deadline = Deadline::never());
  Task<Result<Exec::Collected>> run(ExecSpec spec, Deadline deadline = Deadline::never());
  // A path that is not absolute is meant beneath the bound work directory, which it cannot leave.
  FilePath place(std::string path) const;

  // True if it still had the sandbox. Afterwards the lease is empty.
  bool give_back();
  // If the sandbox may be compromised: it is not used again.
  bool destroy();

 private:
  std::weak_ptr<WarmPool> pool_;
  SlotId slot_ = 0;
  ClaimId claim_ = 0;
  std::shared_ptr<LiveSandbox> sandbox_;
  Binding binding_;
};

}  // namespace cloche::pool
