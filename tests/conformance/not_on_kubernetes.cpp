#include "conformance/not_on_kubernetes.hpp"

#include <array>

namespace cloche {

namespace {

struct PodException {
  std::string_view name;
  std::string_view why;
  std::string_view runtime = "";  // empty: with every one
};

constexpr std::string_view no_pause = "the cluster has no call that pauses a pod";
constexpr std::string_view network = "a pod has the network of its cluster, which a NetworkPolicy has to limit";
constexpr std::string_view filter = "the filter of system calls is the runtime's, which permits asynchronous i/o";
constexpr std::string_view shared = "terminals and asynchronous i/o of a node are not limited for a pod";
constexpr std::string_view buffers = "on cgroup v1 the buffers of connections are not limited for a pod";
constexpr std::string_view no_size = "gVisor gives /dev/shm no size of its own; it is part of the memory limit";
constexpr std::string_view no_sudo = "programs cannot look into the agent's directory of a pod, where sudo would be";
constexpr std::string_view slow_memory =
    "a cluster does not report memory use fast enough to kill a program before gVisor is killed";
constexpr std::string_view no_mount = "files of this host cannot be mounted on a node";

constexpr std::array not_in_pods = {
    PodException{"FrozenProgramThatCounts_DoesNotAdvanceUntilItIsThawed", no_pause},
    PodException{"FrozenSandbox_UsesNoTimeOfTheCpu", no_pause},
    PodException{"FrozenSandbox_DeadlinesWaitForTheThaw", no_pause},
    PodException{"FrozenAndThawedAgainAndAgain_Works", no_pause},
    PodException{"FrozenSandbox_IsDestroyed", no_pause},
    PodException{"ServerThatFrozeItIsKilled_AnotherFindsItThawed", no_pause},
    PodException{"HostDirectory_IsSeenThroughAMount", no_mount},
    PodException{"Network_IsLoopbackAlone", network},
    PodException{"AsynchronousContexts_AreNotToBeHad", filter},
    PodException{"NeighbourThatTakesAllItGets_LeavesOthersTheirs", shared},
    PodException{"BuffersOfConnections_AreLimited", buffers},
    PodException{"SandboxWithoutRoot_HasNoWayToBecomeRoot", no_sudo},
    PodException{"FilesAndPlaces_AreLimitedInSize", no_size, "gvisor"},
    PodException{"ForkBombAtTheMemoryLimit_HasAVerdictAndTheSandboxLives", slow_memory, "gvisor"},
    PodException{"MemoryKilledChildOfAShell_IsAtItsMemoryLimit", slow_memory, "gvisor"},
};

}  // namespace

std::optional<std::string> why_not_on_kubernetes(std::string_view name, std::string_view runtime) {
  for (const PodException& each : not_in_pods) {
    if (each.name == name && (each.runtime.empty() || each.runtime == runtime)) return std::string(each.why);
  }
  return std::nullopt;
}

}  // namespace cloche
