#include "agent/files/tree/parents.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

// Opens a directory that was just created: a link in its place was put there by another process. The type is checked
// explicitly because gVisor follows links when O_DIRECTORY and O_NOFOLLOW are combined.
std::expected<UniqueFd, int> open_own(int parent, const std::string& name) {
  UniqueFd fd(::openat(parent, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return std::unexpected(errno);
  if (!S_ISDIR(status.st_mode)) return std::unexpected(ENOTDIR);
  return fd;
}

std::string join(const std::vector<std::string>& names, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text.append(i == 0 ? "" : "/").append(names[i]);
  return text;
}

}  // namespace

MadeDirectories::~MadeDirectories() {
  for (std::size_t count = names_.size(); count > 0; --count) {
    UniqueFd parent(::fcntl(above_.get(), F_DUPFD_CLOEXEC, 0));
    for (std::size_t i = 0; i + 1 < count && parent; ++i) {
      auto next = open_own(parent.get(), names_[i]);
      parent = next ? std::move(*next) : UniqueFd();
    }
    if (!parent || ::unlinkat(parent.get(), names_[count - 1].c_str(), AT_REMOVEDIR) != 0) return;
  }
}

Result<MadeDirectories> make_directories(const Base& base, const std::vector<std::string>& path, mode_t last_mode) {
  MadeDirectories made;
  const auto open_existing = [&](std::size_t count) {
    return resolve(base.fd(), base.links(), join(path, count), O_PATH | O_DIRECTORY);
  };
  std::size_t existing = path.size();
  auto here = open_existing(existing);
  while (!here && here.error() == ENOENT && existing > 0) here = open_existing(--existing);
  if (!here && here.error() == ENOTDIR) {
    return fail(ErrorCode::already_exists,
                shown(join(path, existing)) + ": a part of it exists and is not a directory");
  }
  if (!here) return fail(base.error(here.error()).at(shown(join(path, existing))));
  CLOCHE_CHECK(base.admit(here->get()));
  for (std::size_t i = existing; i < path.size(); ++i) {
    const mode_t mode = i + 1 == path.size() ? last_mode : 0755;
    if (made.none()) made.above_.reset(::fcntl(here->get(), F_DUPFD_CLOEXEC, 0));
    if (::mkdirat(here->get(), path[i].c_str(), mode) == 0) {
      made.names_.push_back(path[i]);
    } else if (errno == EEXIST) {
      // Either a dangling link, which the next step detects; or another process creates the same directories, and then
      // those above are no longer ours alone to remove.
      made.keep();
    } else {
      return fail_file(errno, join(path, i + 1));
    }
    here = open_own(here->get(), path[i]);
    if (!here) {
      const std::string name = shown(join(path, i + 1));
      if (here.error() != ENOTDIR) return fail(base.error(here.error()).at(name));
      return fail(ErrorCode::already_exists, name + ": exists and is not a directory");
    }
  }
  return made;
}

}  // namespace cloche::agent
