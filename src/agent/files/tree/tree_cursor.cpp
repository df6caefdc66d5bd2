#include "agent/files/tree/tree_cursor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>

#include "agent/files/tree/paths.hpp"

namespace cloche::agent {

namespace {

// Levels above the current one whose descriptors stay open.
constexpr std::size_t open_levels = 64;

}  // namespace

std::expected<TreeCursor::Identity, int> TreeCursor::identify(int fd) {
  struct statx status = {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_MNT_ID, &status) != 0)
    return std::unexpected(errno);
  if (!S_ISDIR(status.stx_mode)) return std::unexpected(ENOTDIR);
  return Identity{.device = makedev(status.stx_dev_major, status.stx_dev_minor),
                  .inode = static_cast<ino_t>(status.stx_ino),
                  .mount = (status.stx_mask & STATX_MNT_ID) != 0 ? status.stx_mnt_id : 0};
}

std::expected<TreeCursor, int> TreeCursor::at(UniqueFd top) {
  const auto identity = identify(top.get());
  if (!identity) return std::unexpected(identity.error());
  TreeCursor cursor;
  cursor.levels_.push_back({*identity, std::move(top)});
  return cursor;
}

bool TreeCursor::on_other_mount() const {
  const Identity& top = levels_.front().identity;
  const Identity& here = levels_.back().identity;
  return top.device != here.device || top.mount != here.mount;
}

int TreeCursor::enter(const char* name) {
  // Not O_DIRECTORY: together with O_NOFOLLOW gVisor follows links.
  UniqueFd fd(::openat(this->fd(), name, open_reading | O_NOFOLLOW));
  if (!fd) return errno == ENXIO ? ENOTDIR : errno;  // ENXIO: a socket
  const auto identity = identify(fd.get());
  if (!identity) return identity.error();
  levels_.push_back({*identity, std::move(fd)});
  // The top stays open: it is where everything else is measured against.
  if (levels_.size() > open_levels + 2) levels_[levels_.size() - open_levels - 2].fd.reset();
  return 0;
}

int TreeCursor::enter_own(const char* name) {
  int number = enter(name);
  if (number == EACCES && ::fchmodat(fd(), name, 0700, AT_SYMLINK_NOFOLLOW) == 0) number = enter(name);
  if (number != 0) return number;
  struct stat status = {};
  if (::fstat(fd(), &status) == 0 && (status.st_mode & 0700) != 0700) {
    // Not ours to change: an operation that needs the permission will report it.
    (void)::fchmod(fd(), (status.st_mode & 0777) | 0700);
  }
  return 0;
}

int TreeCursor::leave(UniqueFd* left) {
  Level& above = levels_[levels_.size() - 2];
  if (!above.fd) {
    UniqueFd fd(::openat(this->fd(), "..", open_reading));
    if (!fd) return errno;
    const auto identity = identify(fd.get());
    if (!identity) return identity.error();
    if (*identity != above.identity) return ESTALE;
    above.fd = std::move(fd);
  }
  if (left != nullptr) *left = std::move(levels_.back().fd);
  levels_.pop_back();
  return 0;
}

}  // namespace cloche::agent
