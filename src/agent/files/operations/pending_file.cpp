#include "agent/files/operations/pending_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "agent/files/operations/abilities.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

constexpr int most_names_tried = 16;

// The way by which a file without a name can be given one.
std::string proc_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// EISDIR: the kernel does not support the flag. EACCES, ENOSPC and the like would fail the other way too.
bool lacks_unnamed_files(int error) {
  return error == EOPNOTSUPP || error == EISDIR || error == EINVAL || error == ENOENT;
}

// Whether that way is available: /proc may be missing or something else.
bool can_be_linked(int fd) {
  struct stat own = {};
  struct stat seen = {};
  return ::fstat(fd, &own) == 0 && ::stat(proc_path(fd).c_str(), &seen) == 0 && own.st_dev == seen.st_dev &&
         own.st_ino == seen.st_ino;
}

}  // namespace

std::string temporary_name() {
  std::uint64_t random[2] = {};
  // Cannot fail for so few bytes; a name that is taken is noticed anyway.
  (void)::getrandom(random, sizeof random, 0);
  char name[48];
  std::snprintf(name, sizeof name, ".cloche-%016llx%016llx", static_cast<unsigned long long>(random[0]),
                static_cast<unsigned long long>(random[1]));
  return name;
}

bool is_temporary_name(std::string_view name) {
  constexpr std::string_view prefix = ".cloche-";
  return name.size() == prefix.size() + 32 && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == name.npos;
}

bool has_unnamed_files(int directory) {
  if (!abilities().tmpfile) return false;
  const UniqueFd file(::openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  return file || !lacks_unnamed_files(errno);
}

Result<PendingFile> PendingFile::create(int parent) {
  if (abilities().tmpfile) {
    UniqueFd fd(::openat(parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (fd && can_be_linked(fd.get())) return PendingFile(parent, std::move(fd), {});
    if (!fd && !lacks_unnamed_files(errno)) return fail_file(errno);
  }
  for (int tries = 0; tries < most_names_tried; ++tries) {
    std::string name = temporary_name();
    UniqueFd fd(::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd) return PendingFile(parent, std::move(fd), std::move(name));
    if (errno != EEXIST) return fail_file(errno);
  }
  return fail_file(EEXIST, "temporary file");
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : parent_(other.parent_), fd_(std::move(other.fd_)), name_(std::exchange(other.name_, {})) {}

PendingFile::~PendingFile() {
  if (!name_.empty()) ::unlinkat(parent_, name_.c_str(), 0);
}

Status PendingFile::publish(const std::string& name) {
  if (!name_.empty()) return rename_to(name);
  const std::string self = proc_path(fd_.get());
  if (::linkat(AT_FDCWD, self.c_str(), parent_, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  if (errno != EEXIST) return fail_file(errno);
  // A link cannot replace a name, a rename can.
  for (int tries = 0; tries < most_names_tried; ++tries) {
    const std::string temporary = temporary_name();
    if (::linkat(AT_FDCWD, self.c_str(), parent_, temporary.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      name_ = temporary;
      return rename_to(name);
    }
    if (errno != EEXIST) return fail_file(errno);
  }
  return fail_file(EEXIST, "temporary file");
}

Status PendingFile::publish_new(const std::string& name) {
  const std::string self = name_.empty() ? proc_path(fd_.get()) : name_;
  const int flags = name_.empty() ? AT_SYMLINK_FOLLOW : 0;
  if (::linkat(name_.empty() ? AT_FDCWD : parent_, self.c_str(), parent_, name.c_str(), flags) != 0) {
    return fail_file(errno);
  }
  return {};  // a temporary name is removed by the destructor
}

Status PendingFile::rename_to(const std::string& name) {
  if (::renameat(parent_, name_.c_str(), parent_, name.c_str()) != 0) return fail_file(errno);
  name_.clear();
  return {};
}

}  // namespace cloche::agent
