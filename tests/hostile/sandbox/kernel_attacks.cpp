// Attacks on the kernel's surface: system calls, namespaces, keyrings, other ABIs, ways around the filter, terminals.
#include <gmock/gmock.h>

#include "hostile/sandbox/attack.hpp"

namespace cloche::hostile {

namespace {

// What gVisor's kernel serves, it serves by itself. On docker it is given no filter at all by the engine.
Attack calls(std::string name, std::string kind, int holes, std::vector<std::string> served_by_gvisor = {}) {
  return {.name = std::move(name),
          .argv = {"kernel/syscalls", std::move(kind)},
          .harmless_on_gvisor = std::move(served_by_gvisor),
          .weak = {.holes = holes}};
}

Attack namespaces(std::string name, std::string how, int holes) {
  return {.name = std::move(name),
          .argv = {"kernel/namespaces", std::move(how)},
          .harmless_on_gvisor = {"namespace", "the kernel looked"},
          .weak = {.holes = holes}};
}

}  // namespace

std::vector<Attack> kernel_attacks() {
  return {
      calls("CallsOnMounts_AreRefused", "mounts", 12, {"Operation not supported"}),
      calls("CallsOnNamespaces_AreRefused", "namespaces", 4, {"unshare", "setns"}),
      calls("CallsOnKeys_AreRefused", "keys", 3),
      calls("CallsOnTheMachineAndItsModules_AreRefused", "machine", 5),
      calls("CallsOnTheClock_AreRefused", "clock", 2),
      calls("CallsForTracing_AreRefused", "tracing", 4, {"perf_event_open"}),
      {.name = "CallsForRings_AreRefused",
       .argv = {"kernel/syscalls", "io"},
       .harmless_on_gvisor = {"io_uring"},
       .weak = {.holes = 2}},
      calls("CallsOnMemoryPolicy_AreRefused", "memory", 3, {"mbind", "set_mempolicy"}),
      calls("CallsOnLabelsAndHangup_AreRefused", "labels", 1),
      {.name = "NumbersThatStandForNothing_AreRefused",
       .argv = {"kernel/syscalls", "unknown"},
       .weak = {.none = "a kernel without a filter does not know these numbers either"}},
      namespaces("Unshare_GivesNoNamespace", "unshare", 6),
      namespaces("Clone_GivesNoNamespace", "clone", 6),
      namespaces("Clone3_GivesNoNamespace", "clone3", 6),
      namespaces("Setns_EntersNoNamespace", "setns", 6),
      {.name = "Keyrings_AreNotThere",
       .argv = {"kernel/keyrings"},
       .harmless_on_gvisor = {"persistent keyring"},
       .weak = {.holes = 5}},
      {.name = "RingsAndProbes_AreNotThere",
       .argv = {"kernel/rings"},
       .harmless_on_gvisor = {"io_uring"},
       .weak = {.holes = 3}},
      {.name = "OtherSystemCallTables_AreNotServed",
       .argv = {"kernel/other_abi"},
       // Taken for calls of 64 bits, and filtered as those.
       .harmless_on_gvisor = {"by int 0x80"},
       // The engine's filter has both tables: what it refuses in one it refuses in the other.
       .harmless_on_docker = {"getpid by int 0x80"}},
      {.name = "Filter_CannotBeBypassed",
       .argv = {"kernel/filter_bypass"},
       .harmless_on_gvisor = {"unshare"},
       .weak = {.holes = 3}},
      {.name = "PersonalitiesClockAndLog_AreRefused",
       .argv = {"kernel/personality"},
       .harmless_on_gvisor = {"log"},  // jokes of its own making
       .weak = {.holes = 5}},
      {.name = "ToolsOfAnAdministrator_AreRefused",
       .argv = {"kernel/tools.sh"},
       .harmless_on_gvisor = {"unshare", "renice", "mknod"},
       .weak = {.holes = 6}},
      {.name = "Terminal_IsItsOwnAlone",
       .argv = {"kernel/terminal"},
       .way = Attack::Way::terminal,
       .judge = [](const Exec::Collected& ran) { EXPECT_THAT(ran.out, testing::HasSubstr("has a terminal")); }},
  };
}

}  // namespace cloche::hostile
