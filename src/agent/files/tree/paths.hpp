// The paths of a request: checked as text, then resolved under the request's rule.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/files/tree/resolve.hpp"
#include "core/result.hpp"

namespace cloche::agent {

// A path without empty and dot components; no components: the base itself.
struct CheckedPath {
  std::vector<std::string> components;
  bool wants_directory = false;  // it ended in a slash or in a dot

  std::string text() const;  // joined, relative to the base
};

// Whether paths may lead to procfs, sysfs and the like.
enum class KernelFiles { allowed, refused };

// Where a request's paths start.
class Base {
 public:
  // Without a root: "/", absolute paths, links may lead anywhere. With a root: relative paths that stay below it.
  static Result<Base> open(const std::string& root, KernelFiles kernel_files = KernelFiles::allowed);

  // invalid_argument for an empty path, NUL, `..`, and absolute or relative where the other is wanted.
  Result<CheckedPath> check(std::string_view path) const;

  // Opens what the path leads to, links followed. A path that ended in a slash must lead to a directory.
  Result<UniqueFd> open(const CheckedPath& path, int flags) const;
  // The last component's place; the component itself may be anything, or missing. invalid_argument for the base itself.
  Result<Place> place(const CheckedPath& path) const;
  // The place of what the path leads to, last links followed, existing or not.
  Result<Place> target(const CheckedPath& path) const;

  int fd() const { return fd_.get(); }
  Links links() const { return links_; }
  KernelFiles kernel_files() const { return kernel_files_; }
  // permission_denied for what resolve() and its like found, where it is a kernel file and these are refused.
  Status admit(int found) const;
  // The Error for a number that resolve() and its like gave.
  Error error(int number) const;

 private:
  Base(UniqueFd fd, Links links, std::string root, KernelFiles kernel_files)
      : fd_(std::move(fd)), links_(links), root_(std::move(root)), kernel_files_(kernel_files) {}

  UniqueFd fd_;
  Links links_;
  std::string root_;
  KernelFiles kernel_files_;
};

// Flags to open a file of unknown kind for reading: FIFOs do not hang it and terminals do not become ours.
constexpr int open_reading = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// An error unless the mode is that of a regular file: `is a directory`, `is a FIFO`, …
Status require_regular(mode_t mode);

// An error when the user may not write to the file of this name, as a program of the user would be refused. A file that
// is missing, or that is just being executed, may be replaced.
Status require_writable(int parent, const std::string& name);

}  // namespace cloche::agent
