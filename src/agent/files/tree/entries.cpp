#include "agent/files/tree/entries.hpp"

#include <fcntl.h>

#include <cerrno>
#include <limits>

#include "agent/files/tree/resolve.hpp"

namespace cloche::agent {

namespace {

wire::FileType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return wire::FileType::regular;
    case S_IFDIR: return wire::FileType::directory;
    case S_IFLNK: return wire::FileType::symlink;
    case S_IFIFO: return wire::FileType::fifo;
    case S_IFSOCK: return wire::FileType::socket;
    case S_IFCHR:
    case S_IFBLK: return wire::FileType::device;
    default: return wire::FileType::other;
  }
}

}  // namespace

std::int64_t nanoseconds(const timespec& time) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(time.tv_sec, 1'000'000'000, &result) ||
      __builtin_add_overflow(result, time.tv_nsec, &result)) {
    return time.tv_sec < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  }
  return result;
}

wire::FileEntry entry_of(const struct stat& status, std::string path) {
  return {.path = std::move(path),
          .type = type_of(status.st_mode),
          .size = static_cast<std::uint64_t>(status.st_size),
          .mode = status.st_mode & 07777,
          .uid = status.st_uid,
          .gid = status.st_gid,
          .mtime_ns = nanoseconds(status.st_mtim),
          .ctime_ns = nanoseconds(status.st_ctim)};
}

std::expected<wire::FileEntry, int> describe(int parent, const char* name, std::string path) {
  struct stat status = {};
  if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return std::unexpected(errno);
  wire::FileEntry entry = entry_of(status, std::move(path));
  if (entry.type == wire::FileType::symlink) {
    auto target = read_link(parent, name);
    if (!target) return std::unexpected(target.error());
    entry.link_target = std::move(*target);
  }
  return entry;
}

}  // namespace cloche::agent
