// Spec: a program of the host that is about to be started, and what its process does before it becomes the program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cloche::process {

// Done in the child, before the program. The child may share this process's memory, and another thread may hold any
// lock: a step makes system calls that concern its own thread, and does nothing else. Its functions are marked with
// CLOCHE_IN_CHILD.
struct Step {
  // Returns nullptr, or the name of what failed, which is a literal; then errno is set.
  const char* (*run)(const void* context) = nullptr;
  const void* context = nullptr;  // lives until the program has started
};

// A sanitizer's notes about code that runs in the child would be the parent's.
#define CLOCHE_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

struct ResourceLimit {
  int resource = 0;         // RLIMIT_*
  std::uint64_t limit = 0;  // soft and hard; no more than this process has
};

// Without supplementary groups.
struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
};

struct Spec {
  std::string program;                   // its path; not searched
  std::vector<std::string> argv;         // with the program's own name
  std::vector<std::string> environment;  // NAME=value, these alone
  std::string directory;                 // empty: where this process is

  // All other descriptors are closed.
  int in = -1;  // -1: an empty pipe
  int out = -1;
  int err = -1;

  // Its own: signals of a terminal do not reach it, and Child::kill ends all that has stayed in its process group.
  enum class Session { own, callers };
  Session session = Session::own;
  // What happens to the program when the thread that started it ends, for example because this process is killed.
  enum class ParentDeath { survives, is_killed };
  ParentDeath parent_death = ParentDeath::survives;

  int namespaces = 0;  // CLONE_NEW*: the child is created in new ones
  int cgroup = -1;     // directory of a v2 cgroup that the child is created in; -1: where this process is
  // Done first if the kernel does not create the child in `cgroup`, because clone3 is not allowed.
  std::vector<Step> instead_of_cgroup;
  std::vector<Step> steps;  // done with the rights of this process
  std::vector<ResourceLimit> limits;
  std::optional<Credentials> user;
};

}  // namespace cloche::process
