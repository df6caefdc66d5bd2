// Orphans: what is left of a program's tree without a supervisor.
//
// On kernels without subreapers (gVisor) double-forked children of a program become children of the agent. There, each
// program gets a mark that all its descendants inherit and none of them can set: a supplementary group of its own. An
// orphan belongs to the program whose mark it has. An orphan without a mark, or with the mark of a program that has
// ended, belongs to no program and is killed as soon as any program ends.
#pragma once

#include <sys/types.h>

#include <utility>

#include "core/result.hpp"

namespace cloche::agent {

// Whether supervisors can be reapers of their program's tree, as everywhere but on gVisor.
bool has_subreapers();

// The groups that are marks. No file has them: they are in a range that distributions keep free.
constexpr gid_t first_mark = 62'000;
constexpr gid_t last_mark = 64'999;

// A mark that no other living program has, until this object is destroyed.
class OrphanMark {
 public:
  OrphanMark() = default;
  static Result<OrphanMark> take();
  OrphanMark(OrphanMark&& other) noexcept : group_(std::exchange(other.group_, 0)) {}
  OrphanMark& operator=(OrphanMark&& other) noexcept {
    std::swap(group_, other.group_);
    return *this;
  }
  ~OrphanMark();

  gid_t group() const { return group_; }  // zero: none
  explicit operator bool() const { return group_ != 0; }

 private:
  explicit OrphanMark(gid_t group) : group_(group) {}
  gid_t group_ = 0;
};

// Ends the orphans of a program of this user that has ended, whose mark is given back, and all that belong to no living
// program.
void end_orphans(OrphanMark mark, uid_t uid);

// With subreapers, the agent gets orphans only if a supervisor was lost: kills the program it had, and all orphans.
void end_tree_of_lost_supervisor(pid_t program);

}  // namespace cloche::agent
