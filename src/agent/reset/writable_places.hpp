// Writable places: mounts in which the user can leave something behind.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::agent {

// One line of /proc/self/mountinfo, as far as it matters.
struct MountPoint {
  std::string path;
  std::string type;
  bool read_only = false;
};
std::vector<MountPoint> parse_mountinfo(std::string_view text);

// Mounts that a program may write to, according to mountinfo: not read-only, not the kernel's own (proc, sysfs, devpts,
// cgroup), and not at or below one of `keep`.
std::vector<std::string> writable_places(const std::vector<MountPoint>& mounts, const std::vector<std::string>& keep);
std::vector<std::string> writable_places_here(const std::vector<std::string>& keep);

// Whether the calling process's user owns the place or may write to it; where not (/dev), nothing can be left behind.
bool is_place_of_user(const std::string& place);

// What the user has left on the directory itself rather than in it: extended attributes, access lists, flags, another
// mode, a size that shows how many files it had. One line each.
std::vector<std::string> marks_on_place(const std::string& place);

// In a forked child with the user's permissions: empties every writable directory, removes the user's attributes from
// it, and removes all IPC objects of the user. Returns how many objects were removed.
std::uint64_t wipe_as(uid_t uid, gid_t gid, const std::vector<std::string>& keep);

}  // namespace cloche::agent
