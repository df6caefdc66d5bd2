// The root of one sandbox: the plan of its skeleton, from its image or the host, with every place that something will
// be mounted at.
#pragma once

#include <string>
#include <vector>

#include "backend/oci/root/root_plan.hpp"
#include "core/result.hpp"
#include "sandbox/spec.hpp"

namespace cloche::oci {

// A caller's mount with what its source is.
struct SourcedMount {
  Mount mount;
  PathKind kind = PathKind::directory;
};

// Checks the sources; the result is in the order of mounting, outer before inner. not_found for a missing source,
// invalid_argument for one that is neither a file nor a directory, and for conflicting targets.
Result<std::vector<SourcedMount>> look_at_mounts(const std::vector<Mount>& mounts);

// Help for programs: see gvisor_stat.c.
enum class Help { none, with_stat };
// Who answers questions for names: no one, or the agent.
enum class Names { unanswered, answered_by_agent };

// `image_root`: empty for the host's own programs. `agent`: a file of Cloche's own, on the skeletons' file system.
Result<RootPlan> plan_root(const SandboxSpec& spec, const std::string& image_root, const std::string& agent,
                           const std::vector<SourcedMount>& mounts, Help help = Help::none,
                           Names names = Names::unanswered);

// Where a program is in the search path of a root, whose directory on the host is given; empty for the host's own
// programs. Empty: nowhere.
std::string place_of_program(const std::string& image_root, const std::string& program);

}  // namespace cloche::oci
