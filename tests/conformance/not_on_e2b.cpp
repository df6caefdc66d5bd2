#include "conformance/not_on_e2b.hpp"

#include <array>

namespace cloche {

namespace {

struct Exception {
  std::string_view name;
  std::string_view why;
};

constexpr std::string_view sizes = "memory, cpus and the sizes of directories are the template's";
constexpr std::string_view pause = "sandboxes on E2B cannot be paused by Cloche";
constexpr std::string_view reset = "sandboxes on E2B are never reset";
constexpr std::string_view image = "images are templates of the service";
constexpr std::string_view mount = "files of this host cannot be mounted on another";
constexpr std::string_view kernel = "nothing is known of a service's kernel";
// Two of the service that stands in for E2B here.
constexpr std::string_view passwd = "the root file system of this service's template is read-only";
constexpr std::string_view sudo = "the template of this service has a sudo of its own, by the service's agent";

constexpr std::array exceptions = {
    Exception{"ProgramThatEatsMemory_IsAtItsMemoryLimit", sizes},
    Exception{"MemoryKilledChildOfAShell_IsAtItsMemoryLimit", sizes},
    Exception{"ProgramAfterAMemoryKill_IsNotBlamedForIt", sizes},
    Exception{"StringThatDoesNotFit_IsAtTheMemoryLimitWithItsPeak", sizes},
    Exception{"ForkBombAtTheMemoryLimit_HasAVerdictAndTheSandboxLives", sizes},
    Exception{"PythonContextThatUsesUpTheMemory_SaysSoAndCanBeMadeAnew", sizes},
    Exception{"ScriptThatUsesUpTheMemory_SaysSo", sizes},
    Exception{"CpuShare_IsLimited", sizes},
    Exception{"LimitsOfALivingSandbox_CanBeChanged", sizes},
    Exception{"FilesAndPlaces_AreLimitedInSize", sizes},
    Exception{"FileThatDoesNotFit_IsRefusedAndLeavesNothing", sizes},
    Exception{"ProgramWhoseFileHasNoRoom_IsRefused_AndNothingIsLeft", sizes},
    Exception{"BuffersOfConnections_AreLimited", sizes},
    Exception{"FrozenProgramThatCounts_DoesNotAdvanceUntilItIsThawed", pause},
    Exception{"FrozenSandbox_UsesNoTimeOfTheCpu", pause},
    Exception{"FrozenSandbox_DeadlinesWaitForTheThaw", pause},
    Exception{"FrozenAndThawedAgainAndAgain_Works", pause},
    Exception{"FrozenSandbox_IsDestroyed", pause},
    Exception{"ServerThatFrozeItIsKilled_AnotherFindsItThawed", pause},
    Exception{"ResetAfterPlanting_LeavesNothingToFind", reset},
    Exception{"ResetOfAnUnusedSandbox_IsFine", reset},
    Exception{"ResetUnderAForkBomb_EndsIt", reset},
    Exception{"ResetWithOpenEgress_Fails", reset},
    Exception{"ZygoteAfterReset_StillServes", reset},
    Exception{"DebianImage_RunsPython", image},
    Exception{"BusyboxImageWithoutGlibc_RunsAShell", image},
    Exception{"EmptyImage_RunsAStaticProgramOfTheCaller", image},
    Exception{"WorkDirectoryDeepInTheImage_IsWritable", image},
    Exception{"HostDirectory_IsSeenThroughAMount", mount},
    Exception{"Kernel_IsWhatTheAgentFinds", kernel},
    Exception{"UserOfASandbox_HasItsName", passwd},
    Exception{"SandboxWithoutRoot_HasNoWayToBecomeRoot", sudo},
};

}  // namespace

std::optional<std::string> why_not_on_e2b(std::string_view name) {
  for (const Exception& each : exceptions) {
    if (each.name == name) return std::string(each.why);
  }
  return std::nullopt;
}

}  // namespace cloche
