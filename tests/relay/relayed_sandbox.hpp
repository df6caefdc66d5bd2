// RelayedSandbox: namespaces as of the fake backend, in which `cloche-agent relay` runs below another process 1, or
// `cloche-agent pod` is process 1, and connections to it that a test can kill.
#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/unique_fd.hpp"
#include "process/child.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/resumable_channel.hpp"

namespace cloche {

class RelayedSandbox {
 public:
  enum class Order { relay_first, agent_first };
  // Blocking: until the relay is ready, and its starter has ended.
  static Result<std::unique_ptr<RelayedSandbox>> start(Executor executor, const std::string& agent_path,
                                                       Order order = Order::relay_first);
  RelayedSandbox(const RelayedSandbox&) = delete;
  RelayedSandbox& operator=(const RelayedSandbox&) = delete;
  ~RelayedSandbox();

  Dial dial();
  // An enclosure with a channel of its own: a new server, each time. The sandbox outlives it.
  std::unique_ptr<Enclosure> enclosure(ResumeOptions options);

  // All dials that run now are killed; returns how many.
  std::size_t cut_connections() const;
  std::size_t dials() const { return dialled_; }

  // Pids, as the host has them, of the sandbox's processes of this name.
  std::vector<pid_t> processes(const std::string& name) const;

  struct Ran {
    int exit_code = -1;
    std::string out;
    std::string err;
  };
  // The agent's program in the sandbox, as its uid 0. Blocking.
  Result<Ran> run_agent(const std::string& verb) const;

 private:
  RelayedSandbox(Executor executor, process::Child bubblewrap, pid_t first, Order order);

  Executor executor_;
  process::Child bubblewrap_;
  pid_t first_;  // process 1 of the sandbox
  Order order_;
  std::size_t dialled_ = 0;
  std::shared_ptr<std::set<pid_t>> living_ = std::make_shared<std::set<pid_t>>();
};

}  // namespace cloche
