// Attacks on processes: too many of them, some that stay, and the agent, its supervisors and zygotes as targets.
#include <gmock/gmock.h>

#include "hostile/sandbox/attack.hpp"

namespace cloche::hostile {

using namespace std::chrono_literals;

namespace {

Attack escape(std::string name, std::string how) {
  return {.name = std::move(name), .argv = {"processes/escape", std::move(how)}, .then = {"processes/look_for"}};
}

// The same when the program does not end by itself.
Attack escape_at_time_limit(std::string name, std::string how, std::string naive) {
  return {.name = std::move(name),
          .argv = {"processes/escape", std::move(how), "stay"},
          .then = {"processes/look_for"},
          .wall_limit = 2s,
          .endings = {Ending::wall_limit},
          .weak = {.naive = std::move(naive)}};
}

Attack flood(std::string name, std::string kind) {
  return {.name = std::move(name), .argv = {"processes/flood", std::move(kind)}};
}

}  // namespace

std::vector<Attack> process_attacks() {
  return {
      flood("Forks_AreLimited", "fork"),
      flood("RawClones_AreLimited", "vfork"),
      flood("Threads_AreLimited", "threads"),
      flood("Zombies_AreLimited", "zombies"),
      flood("Orphans_AreLimited", "orphans"),
      escape("Daemon_EndsWithItsRun", "daemon"),
      escape("StoppedProcess_EndsWithItsRun", "stopped"),
      escape("ProcessThatChangesItsPid_EndsWithItsRun", "hopper"),
      escape("OrphanOfASubreaper_EndsWithItsRun", "subreaper"),
      escape("TracedProcess_EndsWithItsRun", "traced"),
      escape("ProcessThatChangesItsPidAndSession_EndsWithItsRun", "session_hopper"),
      escape("ProcessWithAForgedMark_EndsWithItsRun", "forged"),
      escape("ProcessThatChangesItsGroups_EndsWithItsRun", "groups"),
      escape("ProcessInItsOwnUserNamespace_EndsWithItsRun", "userns"),
      escape("ProcessNamedLikeTheKernelsWord_EndsWithItsRun", "named"),
      escape("ProcessWithItsParentsParent_EndsWithItsRun", "sibling"),
      escape("TreeOfDaemons_EndsWithItsRun", "threads"),
      {.name = "JobsOfAShell_EndWithItsRun",
       .argv = {"processes/nohup.sh"},
       .then = {"processes/look_for"},
       .judge = [](const Exec::Collected& ran) { EXPECT_THAT(ran.out, testing::HasSubstr("a shell: 4")); }},
      escape_at_time_limit("DaemonAtTheTimeLimit_IsEnded", "daemon", "asks_to_end"),
      escape_at_time_limit("DeafProgramAtTheTimeLimit_IsEnded", "deaf", "asks_to_end"),
      escape_at_time_limit("HopperAtTheTimeLimit_IsEnded", "hopper", "asks_to_end"),
      {.name = "SignalsToTheAgent_AreRefused", .argv = {"processes/signal_agent"}, .weak = {.holes = 6}},
      {.name = "SignalsToAll_ReachItsOwnAlone", .argv = {"processes/kill_all"}},
      {.name = "TracingTheAgent_IsRefused",
       .argv = {"processes/trace_agent"},
       .harmless_on_gvisor = {"robust list"},  // an address, of memory that stays closed
       .weak = {.holes = 4}},
      {.name = "ProcessesWithMoreRights_CannotBeReached",
       .argv = {"processes/reach"},
       // Names and addresses, never what is there; and numbers of its scheduler that it does not use. A reset finds the
       // latter changed (Leftovers: Priority).
       .harmless_on_gvisor = {"sched_set", "setpriority", "ioprio_set", "read environ", "read maps", "read smaps",
                              "read auxv", "read fdinfo", "read ns/", "get_robust_list"},
       .weak = {.holes = 25}},
      {.name = "PrctlAndCapset_GiveNoPower", .argv = {"processes/prctl"}, .weak = {.holes = 10}},
      {.name = "OtherUsers_CannotBecome",
       .argv = {"processes/become"},
       .harmless_on_gvisor = {"is in group 62", "is in group 63", "is in group 64"},  // its mark
       .weak = {.holes = 10}},
      {.name = "Priorities_CannotBeRaised",
       .argv = {"processes/scheduler"},
       .harmless_on_gvisor = {"nice", "affinity"},  // numbers that its kernel keeps and does not use
       .weak = {.holes = 3}},
      {.name = "ResourceLimits_CannotBeRaised", .argv = {"processes/rlimits"}, .weak = {.holes = 3}},
      {.name = "SignalsTimersAndQueues_AreLimited", .argv = {"processes/pending"}, .ends_gvisor = true},
      {.name = "CpuTimeOfATree_IsLimited",
       .argv = {"processes/burn"},
       .cpu_limit = 500ms,
       .endings = {Ending::cpu_limit}},
      {.name = "Zygote_CannotBeReached",
       .argv = {"processes/siblings.py"},
       .way = Attack::Way::zygote,
       .harmless_on_gvisor = {"/environ"},
       .weak = {.holes = 3}},
  };
}

}  // namespace cloche::hostile
