// Orphans: what is left of a program's tree without a supervisor.
//
// On kernels without subreapers (gVisor) a program's double-forked children become the agent's own, and nothing but
// what they carry tells whose they were. There, every program gets a mark in its environment.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace cloche::agent {

// Whether supervisors can be reapers of their program's tree, as everywhere but on gVisor.
bool has_subreapers();

// A variable for the program's environment.
std::string orphan_mark(std::uint64_t number);

// Ends all orphans that bear the mark, and those that have thrown every mark away.
void end_orphans(const std::string& mark);

// With subreapers, the agent has orphans only when a supervisor was lost: ends the program it had, and all orphans.
void end_tree_of_lost_supervisor(pid_t program);

}  // namespace cloche::agent
