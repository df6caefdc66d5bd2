// Attacks on memory: 160 MB are wanted, of every kind there is, where 64 are allowed.
#include <gtest/gtest.h>

#include "hostile/sandbox/attack.hpp"

namespace cloche::hostile {

namespace {

// Refused, or killed and reported as that. The kill of a child of the program ends only the child.
Attack hog(std::string name, std::string kind) {
  return {.name = std::move(name),
          .argv = {"memory/hog", kind},
          .memory = mib(64),
          .endings = {Ending::memory_limit, Ending::exited},
          .judge =
              [](const Exec::Collected& ran) {
                if (ran.outcome.ending == Ending::memory_limit) {
                  EXPECT_GE(ran.outcome.oom_kills, 1U);
                } else {
                  EXPECT_TRUE(verdict_of(ran.out).done) << ran.out << ran.err;
                }
              },
          .ends_gvisor = true};
}

}  // namespace

std::vector<Attack> memory_attacks() {
  return {
      hog("Heap_IsLimited", "heap"),
      hog("Brk_IsLimited", "brk"),
      hog("Stack_IsLimited", "stack"),
      hog("MappingsWithoutReserve_AreLimited", "noreserve"),
      hog("SharedMappings_AreLimited", "shared"),
      hog("PopulatedAndLockedMappings_AreLimited", "populate"),
      hog("SystemVMemory_IsLimited", "sysv"),
      hog("PosixMemory_IsLimited", "posix"),
      hog("MemoryFiles_AreLimited", "memfd"),
      hog("FilesInAllPlaces_AreLimited", "file"),
      hog("SecretMemory_IsLimited", "secret"),
      hog("ThreadStacks_AreLimited", "threads"),
      hog("TreeOfSmallOnes_IsLimited", "tree"),
      hog("PipeBuffers_AreLimited", "pipes"),
      hog("SocketBuffers_AreLimited", "sockets"),
      hog("PageTables_AreLimited", "tables"),
      hog("SplicedPages_AreLimited", "vmsplice"),
      hog("MessageQueues_AreLimited", "msgqueues"),
      {.name = "LockedAndHugePages_AreLimited",
       .argv = {"memory/locked"},
       .memory = mib(64),
       .endings = {Ending::memory_limit, Ending::exited},
       .harmless_on_gvisor = {"huge page"},  // plain ones, by that name
       .ends_gvisor = true},
  };
}

}  // namespace cloche::hostile
