#include "backend/oci/draft.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "backend/oci/files.hpp"
#include "core/ids.hpp"

namespace cloche::oci {

namespace {

constexpr std::string_view prefix = ".draft-";
constexpr int most_attempts = 20;

// Nothing when another has it, or it is gone.
UniqueFd lock_draft(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return {};
  struct stat opened{}, named{};
  const bool same = ::fstat(fd.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
                    opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  if (!same) fd.reset();
  return fd;
}

void remove_left(const std::string& directory) {
  const auto names = list_directory(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    const std::string path = directory + "/" + name;
    if (const UniqueFd lock = lock_draft(path); lock) (void)remove_tree(path);
  }
}

}  // namespace

Result<Draft> Draft::make(const std::string& directory, mode_t mode) {
  remove_left(directory);
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    std::string path = directory + "/" + std::string(prefix) + random_hex(8);
    const Status made = make_directory(path, mode);
    // Before it is locked, a process that cleans up may remove it as one that was left.
    const bool was_removed = !made && made.error().code == ErrorCode::not_found && path_exists(directory);
    if (was_removed) continue;
    CLOCHE_CHECK(made);
    if (UniqueFd lock = lock_draft(path); lock) return Draft(std::move(path), std::move(lock));
  }
  return fail(ErrorCode::unavailable, "cannot create a draft in " + directory + ": its files keep changing; retry");
}

Draft::~Draft() {
  if (lock_) (void)remove_tree(path_);
}

}  // namespace cloche::oci
