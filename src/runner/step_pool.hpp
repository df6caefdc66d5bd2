// StepPool: where the steps of a program run: sandboxes of one profile, leased for one step each. A step never holds a
// sandbox while it waits for another, so that steps cannot block each other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pool/manager.hpp"
#include "runner/judge/program_plan.hpp"

namespace cloche::runner {

// What a claim does if all sandboxes are leased.
enum class Patience {
  as_configured,  // as the pool's options say
  wait,           // waits its turn, whatever they say
};

struct StepPool {
  pool::Manager* manager = nullptr;
  std::string profile;
  std::string tenant;
  std::optional<NetworkPolicy> network;  // instead of the profile's

  // Finds the language's own profile, or the one it names; one that the tenant may use. `not_found` lists what there is
  // for the tenant.
  static Result<StepPool> find(pool::Manager& manager, const Language& language, std::string tenant);

  const Profile& options() const;
  // Refuses what a caller asks for beyond the limits that the profile's configuration says.
  Status check_asked(const StepLimits& asked) const;
  // Rejects a step that may take longer than the running_timeout.
  Status validate(const StepLimits& limits) const;
  Task<Result<pool::Lease>> claim(StepLimits limits, Patience patience, Deadline deadline) const;
};

// The default limits of a step: time and output.
constexpr std::chrono::seconds default_wall{10};
constexpr Bytes default_output = mib(16);
// How long a sandbox may be silent after a program's own limit before it is given up.
constexpr std::chrono::seconds beyond_limit{15};

Task<Status> write_tree(pool::Lease& lease, const FileTree& files, Deadline deadline);

// One program to be run, and its input.
struct StepRun {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string zygote;
  StepLimits limits;
  std::string_view input;  // outlives the run
};
// Output is kept up to its limit, which stops the program. Input is not set.
ExecSpec to_spec(StepRun run);

// Called with the exec when it has started, and with nullptr before it is destroyed.
using ExecObserver = std::function<void(Exec*)>;

// Notifies an observer. Its scope must end before that of the exec.
class ExecObserverScope {
 public:
  ExecObserverScope(const ExecObserver& observer, Exec& exec) : observer_(observer) {
    if (observer_) observer_(&exec);
  }
  ExecObserverScope(const ExecObserverScope&) = delete;
  ExecObserverScope& operator=(const ExecObserverScope&) = delete;
  ~ExecObserverScope() {
    if (observer_) observer_(nullptr);
  }

 private:
  const ExecObserver& observer_;
};

// Runs it in a lease, its input sent while its output is read.
Task<Result<Exec::Collected>> run_step(pool::Lease& lease, StepRun run, const ExecObserver& observer,
                                       Deadline deadline);

// The time by which a sandbox must have reported the end of a program.
Deadline guard_of(const StepLimits& limits, Deadline deadline);

}  // namespace cloche::runner
