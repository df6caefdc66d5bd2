// tar_out: a file, or what is below a directory, as a tar stream.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "agent/files/operations/operations.hpp"
#include "agent/files/streams.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/tree_walk.hpp"
#include "archive/tar_writer.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

tar::Entry entry_for(const struct stat& status, const std::string& path, tar::EntryType type) {
  return {.type = type,
          .path = path,
          .size = type == tar::EntryType::file ? static_cast<std::uint64_t>(status.st_size) : 0,
          .mode = status.st_mode & 0777,
          .uid = status.st_uid,
          .gid = status.st_gid,
          .mtime = status.st_mtim.tv_sec};
}

class Packer {
 public:
  explicit Packer(int out) : out_(out), buffer_(chunk_size, '\0') {}

  // An open regular file.
  Status add_file(int file, const struct stat& status, const std::string& path) {
    const tar::Entry entry = entry_for(status, path, tar::EntryType::file);
    CLOCHE_CHECK(out_.write(tar::header(entry)));
    CLOCHE_CHECK(add_content(file, entry.size, path));
    ++files_;
    return out_.write(std::string(tar::padding_after(entry.size), '\0'));
  }

  Status add_found(const Found& found) {
    switch (found.type) {
      case DT_REG: return add_found_file(found);
      case DT_DIR: return add_named(found, tar::EntryType::directory);
      case DT_LNK: return add_named(found, tar::EntryType::symlink);
      default: ++skipped_; return {};
    }
  }

  Status finish() {
    CLOCHE_CHECK(out_.write(tar::end_mark()));
    return out_.flush();
  }

  wire::FileReply reply() const { return {.done = true, .bytes = bytes_, .files = files_, .skipped = skipped_}; }

 private:
  Status add_found_file(const Found& found) {
    const UniqueFd file(::openat(found.parent, found.name, open_reading | O_NOFOLLOW));
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0) {
      if (errno != ENOENT && errno != ELOOP && errno != ENXIO) return fail_file(errno, found.path);
    } else if (S_ISREG(status.st_mode)) {
      return add_file(file.get(), status, found.path);
    }
    // Gone, or something else by now.
    ++skipped_;
    return {};
  }

  Status add_named(const Found& found, tar::EntryType type) {
    struct stat status = {};
    const bool there = ::fstatat(found.parent, found.name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT) return fail_file(errno, found.path);
    tar::Entry entry = entry_for(status, found.path, type);
    if (there && type == tar::EntryType::symlink) {
      auto target = read_link(found.parent, found.name);
      if (target) entry.link = std::move(*target);
    }
    if (!there || (type == tar::EntryType::symlink && entry.link.empty())) {
      ++skipped_;
      return {};
    }
    ++files_;
    return out_.write(tar::header(entry));
  }

  // Exactly `size` bytes, whatever the file's size is by now: the header has said it.
  Status add_content(int file, std::uint64_t size, const std::string& path) {
    while (size > 0) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, buffer_.size()));
      const ssize_t got = read_some(file, buffer_.data(), wanted);
      if (got < 0) return fail_file(static_cast<int>(-got), path);
      auto count = static_cast<std::size_t>(got);
      if (count == 0) {
        count = wanted;
        std::fill_n(buffer_.begin(), count, '\0');
      }
      CLOCHE_CHECK(out_.write({buffer_.data(), count}));
      size -= count;
      bytes_ += count;
    }
    return {};
  }

  ContentWriter out_;
  std::string buffer_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace

Status pack_tar(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(UniqueFd top, base.open(path, open_reading));
  struct stat status = {};
  if (::fstat(top.get(), &status) != 0) return fail_file(errno);
  Packer packer(io.out);
  if (S_ISDIR(status.st_mode)) {
    const auto visit = [&](const Found& found) -> Result<WalkStep> {
      CLOCHE_CHECK(packer.add_found(found));
      return WalkStep::descend;
    };
    CLOCHE_TRY(
        [[maybe_unused]] const Walked walked,
        walk_tree(std::move(top), {.unreadable = WalkOptions::Unreadable::fail, .mounts = mounts_of(request)}, visit));
  } else {
    CLOCHE_CHECK(require_regular(status.st_mode));
    CLOCHE_CHECK(packer.add_file(top.get(), status, path.components.back()));
  }
  CLOCHE_CHECK(packer.finish());
  return io.reply(packer.reply());
}

}  // namespace cloche::agent
