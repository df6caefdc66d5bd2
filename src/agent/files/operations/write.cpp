// write: content to a file, whole or not at all; or appended; or to a new file that grows, as a program would write it.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "agent/files/operations/attributes.hpp"
#include "agent/files/operations/operations.hpp"
#include "agent/files/operations/pending_file.hpp"
#include "agent/files/streams.hpp"
#include "agent/files/tree/parents.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

// The mode of the existing file; nullopt if there is none. An error if it is not a regular file.
Result<std::optional<mode_t>> existing_mode(const Place& place) {
  struct stat status = {};
  if (::fstatat(place.parent.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return fail_file(errno);
  }
  CLOCHE_CHECK(require_regular(status.st_mode));
  return status.st_mode & 0777;
}

// The directory a request names, for messages.
std::string directory_of(const wire::FileRequest& request) {
  const auto slash = request.path.rfind('/');
  if (slash == std::string::npos || slash == 0) return request.root.empty() ? "/" : request.root;
  return request.path.substr(0, slash);
}

// Copies the content, counting it as it comes; the bytes copied.
Result<std::uint64_t> copy_content(const wire::FileRequest& request, int in, int file) {
  ContentReader reader(in);
  std::uint64_t written = 0;
  for (;;) {
    CLOCHE_TRY(const std::string_view chunk, reader.next());
    if (chunk.empty()) return written;
    if (request.max_bytes != 0 && chunk.size() > request.max_bytes - written) {
      return fail(ErrorCode::limit_reached,
                  "content is larger than the " + std::to_string(request.max_bytes) + " bytes allowed");
    }
    if (const int number = write_all(file, chunk); number != 0) {
      const bool full = number == ENOSPC || number == EDQUOT;
      return fail_file(number, full ? directory_of(request) : std::string());
    }
    written += chunk.size();
  }
}

Result<std::uint64_t> append_content(const wire::FileRequest& request, int in, const Place& place, mode_t mode) {
  UniqueFd file(::openat(place.parent.get(), place.name.c_str(),
                         O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0) return fail_file(errno);
  CLOCHE_CHECK(require_regular(status.st_mode));
  CLOCHE_CHECK(set_attributes(file.get(), request.attributes));
  return copy_content(request, in, file.get());
}

Result<std::uint64_t> replace_content(const wire::FileRequest& request, int in, const Place& place, mode_t mode) {
  CLOCHE_TRY(PendingFile file, PendingFile::create(place.parent.get()));
  CLOCHE_CHECK(set_attributes(file.fd(), request.attributes));
  CLOCHE_TRY(const std::uint64_t written, copy_content(request, in, file.fd()));
  if (::fchmod(file.fd(), mode) != 0) return fail_file(errno);
  CLOCHE_CHECK(file.publish(place.name));
  return written;
}

// Removes the file again unless it is complete. Another file that has the name by then is left alone.
class GrowingFile {
 public:
  GrowingFile(const Place& place, UniqueFd fd) : place_(place), fd_(std::move(fd)) {}
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  ~GrowingFile() {
    struct stat own = {};
    struct stat named = {};
    if (is_complete_ || ::fstat(fd_.get(), &own) != 0) return;
    if (::fstatat(place_.parent.get(), place_.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (own.st_dev == named.st_dev && own.st_ino == named.st_ino) {
      ::unlinkat(place_.parent.get(), place_.name.c_str(), 0);
    }
  }

  int fd() const { return fd_.get(); }
  void keep() { is_complete_ = true; }

 private:
  const Place& place_;
  UniqueFd fd_;
  bool is_complete_ = false;
};

Result<std::uint64_t> grow_new(const wire::FileRequest& request, int in, const Place& place, mode_t mode) {
  UniqueFd fd(
      ::openat(place.parent.get(), place.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd && errno == EEXIST) return replace_content(request, in, place, mode);
  if (!fd) return fail_file(errno);
  GrowingFile file(place, std::move(fd));
  CLOCHE_CHECK(set_attributes(file.fd(), request.attributes));
  if (::fchmod(file.fd(), mode) != 0) return fail_file(errno);
  CLOCHE_TRY(const std::uint64_t written, copy_content(request, in, file.fd()));
  file.keep();
  return written;
}

Result<std::uint64_t> write_content(const wire::FileRequest& request, int in, const Place& place, mode_t mode,
                                    bool is_new) {
  if (request.append) return append_content(request, in, place, mode);
  if (request.in_place && is_new) return grow_new(request, in, place, mode);
  return replace_content(request, in, place, mode);
}

}  // namespace

Status write_file(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(CheckedPath path, base.check(request.path));
  CLOCHE_TRY(const mode_t asked_mode, mode_of(request, 0));
  CLOCHE_CHECK(check_attributes(request.attributes));
  if (path.wants_directory || path.components.empty()) return fail_file(EISDIR);
  MadeDirectories made;
  if (request.parents) {
    const std::vector<std::string> above(path.components.begin(), path.components.end() - 1);
    CLOCHE_TRY(made, make_directories(base, above));
  }
  CLOCHE_TRY(const Place place, base.target(path));
  CLOCHE_TRY(const std::optional<mode_t> existing, existing_mode(place));
  if (existing && !request.force) CLOCHE_CHECK(require_writable(place.parent.get(), place.name));
  const mode_t mode = asked_mode != 0 ? asked_mode : existing.value_or(0644);
  CLOCHE_TRY(const std::uint64_t written, write_content(request, io.in, place, mode, !existing));
  made.keep();
  return io.reply({.done = true, .bytes = written});
}

}  // namespace cloche::agent
