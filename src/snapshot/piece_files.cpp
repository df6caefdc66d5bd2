#include "snapshot/piece_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "core/ids.hpp"
#include "core/log.hpp"
#include "core/unique_fd.hpp"

namespace cloche::snapshot {

namespace {

constexpr std::string_view draft_prefix = ".new-";

// Removed unless it got its name.
class Draft {
 public:
  explicit Draft(std::string path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (fd_ && !named_) ::unlink(path_.c_str());
  }

  Status fill(std::string_view bytes) const {
    if (!fd_) return fail_errno("create a file of a snapshot");
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail_errno("write a file of a snapshot");
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    if (::fsync(fd_.get()) != 0) return fail_errno("sync a file of a snapshot");
    return {};
  }
  Status name(const std::string& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0) return fail_errno("name a file of a snapshot");
    named_ = true;
    return {};
  }

 private:
  std::string path_;
  UniqueFd fd_;
  bool named_ = false;
};

}  // namespace

Status write_whole(const std::string& directory, const std::string& name, std::string_view bytes) {
  Draft draft(directory + "/" + std::string(draft_prefix) + random_hex(8));
  CLOCHE_CHECK(draft.fill(bytes));
  return draft.name(directory + "/" + name);
}

Status sync_directory(const std::string& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail_errno("sync a directory of snapshots");
  return {};
}

Status make_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0) {
    if (errno == EEXIST) return {};
    return fail_errno("create a directory of snapshots");
  }
  return sync_directory(directory.substr(0, directory.rfind('/')));
}

Result<std::string> read_whole(const std::string& path, std::size_t most) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about{};
  if (!fd || ::fstat(fd.get(), &about) != 0) return fail_errno("open a file of a snapshot");
  const bool fits = S_ISREG(about.st_mode) && static_cast<std::uint64_t>(about.st_size) <= most;
  if (!fits) return fail(ErrorCode::protocol, "a file of a snapshot is too large");
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t count = ::read(fd.get(), bytes.data() + have, bytes.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("read a file of a snapshot");
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  bytes.resize(have);
  return bytes;
}

Result<std::vector<std::string>> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), &::closedir);
  if (!open && errno == ENOENT) return names;
  if (!open) return fail_errno("list a directory of snapshots");
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(open.get());
    if (entry == nullptr && errno != 0) return fail_errno("list a directory of snapshots");
    if (entry == nullptr) return names;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

bool is_draft(std::string_view name) { return name.starts_with(draft_prefix); }

bool PieceFiles::has(const Piece& piece) const {
  struct stat about{};
  return ::lstat(path_of(piece.digest).c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_size == piece.size;
}

Status PieceFiles::write(const Piece& piece, std::string_view bytes) const {
  return write_whole(directory_, to_hex(piece.digest), bytes);
}

Result<std::string> PieceFiles::read(const Piece& piece) const {
  auto bytes = read_whole(path_of(piece.digest), most_of_piece);
  if (bytes && bytes->size() == piece.size && sha256(*bytes) == piece.digest) return bytes;
  log::error("snapshots: piece {} is damaged or missing: {}", path_of(piece.digest),
             bytes ? "its content is not what its name says" : bytes.error().message);
  return fail(ErrorCode::internal, "a part of the snapshot is damaged or missing; delete the snapshot");
}

void PieceFiles::remove_name(const std::string& name) const {
  const std::string path = directory_ + "/" + name;
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  log::warn("snapshots: {}", errno_error("remove " + path, errno).message);
}

}  // namespace cloche::snapshot
