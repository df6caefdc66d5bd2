#include "auth/guarded_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <thread>

namespace cloche::auth {

namespace {

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

FileStamp stamp(const struct stat& about) {
  return {.device = about.st_dev,
          .inode = about.st_ino,
          .size = static_cast<std::uint64_t>(about.st_size),
          .mode = about.st_mode,
          .owner = about.st_uid,
          .modified_ns = nanoseconds(about.st_mtim),
          .changed_ns = nanoseconds(about.st_ctim)};
}

Status check_path(const std::string& path) {
  if (path.empty()) return fail(ErrorCode::invalid_argument, "file name is empty");
  if (path.find('\0') != path.npos) return fail(ErrorCode::invalid_argument, "file name contains a NUL byte");
  return {};
}

Status check_guard(const std::string& path, const struct stat& about, const FileRule& rule) {
  if (!S_ISREG(about.st_mode)) return fail(ErrorCode::invalid_argument, path + " is not a regular file");
  if (about.st_uid != 0 && about.st_uid != ::geteuid()) {
    return fail(ErrorCode::permission_denied, path + " belongs to uid " + std::to_string(about.st_uid) +
                                                  ": its owner must be root or the user of this process");
  }
  const bool secret = rule.secrecy == Secrecy::secret;
  const mode_t forbidden = secret ? S_IRWXG | S_IRWXO : S_IWGRP | S_IWOTH;
  if ((about.st_mode & forbidden) != 0) {
    return fail(ErrorCode::permission_denied,
                secret ? path + " is accessible to users other than its owner: run chmod 600 on it"
                       : path + " is writable by users other than its owner: run chmod go-w on it");
  }
  return {};
}

Result<std::string> read_all(int fd, const std::string& path, std::size_t most) {
  std::string content;
  char chunk[16384];
  for (;;) {
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + path);
    if (n == 0) return content;
    content.append(chunk, static_cast<std::size_t>(n));
    if (content.size() > most) {
      return fail(ErrorCode::invalid_argument, path + " is larger than " + std::to_string(most) + " bytes");
    }
  }
}

Status write_all(int fd, const std::string& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write " + path);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// Otherwise two writes within one clock tick would look the same if the second file got the inode of the first.
Status make_later_than_old(int fd, const std::string& path) {
  struct stat old;
  if (::lstat(path.c_str(), &old) != 0) return errno == ENOENT ? Status{} : fail_errno("stat " + path);
  struct stat made;
  if (::fstat(fd, &made) != 0) return fail_errno("stat " + path + ".new");
  if (nanoseconds(made.st_mtim) > nanoseconds(old.st_mtim)) return {};
  timespec later = old.st_mtim;
  if (++later.tv_nsec == 1'000'000'000) {
    ++later.tv_sec;
    later.tv_nsec = 0;
  }
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, later};
  if (::futimens(fd, times) != 0) return fail_errno("set the time of " + path + ".new");
  return {};
}

Status sync_directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string directory = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + directory);
  if (::fsync(fd.get()) != 0) return fail_errno("sync " + directory);
  return {};
}

// A temporary file that is removed unless it is renamed.
struct Unfinished {
  const std::string& name;
  bool renamed = false;
  ~Unfinished() {
    if (!renamed) ::unlink(name.c_str());
  }
};

}  // namespace

Result<FileStamp> stamp_of(const std::string& path, Links links) {
  struct stat about;
  const int done = links == Links::followed ? ::stat(path.c_str(), &about) : ::lstat(path.c_str(), &about);
  if (done != 0) return fail_errno("stat " + path);
  return stamp(about);
}

Result<GuardedFile> read_guarded(const std::string& path, const FileRule& rule) {
  CLOCHE_CHECK(check_path(path));
  const int nofollow = rule.links == Links::refused ? O_NOFOLLOW : 0;
  // Without O_NONBLOCK, a named pipe would block until another process writes to it.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | nofollow));
  if (!fd) {
    if (errno == ELOOP && nofollow != 0) return fail(ErrorCode::invalid_argument, path + " is a symbolic link");
    return fail_errno("open " + path);
  }
  struct stat about;
  if (::fstat(fd.get(), &about) != 0) return fail_errno("stat " + path);
  CLOCHE_CHECK(check_guard(path, about, rule));
  CLOCHE_TRY(std::string content, read_all(fd.get(), path, rule.most_bytes));
  struct stat after;
  if (::fstat(fd.get(), &after) != 0) return fail_errno("stat " + path);
  // The inode may lose its name meanwhile, which is how we replace files ourselves; its bytes stay what they were.
  if (content.size() != static_cast<std::size_t>(about.st_size) ||
      nanoseconds(after.st_mtim) != nanoseconds(about.st_mtim)) {
    return fail(ErrorCode::unavailable, path + " changed while it was being read: replace it atomically, with mv");
  }
  return GuardedFile{std::move(content), stamp(about)};
}

Status replace_guarded(const std::string& path, std::string_view content) {
  CLOCHE_CHECK(check_path(path));
  const std::string name = path + ".new";
  // What a killed writer left. No other process uses it: the caller holds the lock.
  if (::unlink(name.c_str()) != 0 && errno != ENOENT) return fail_errno("remove " + name);
  const UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail_errno("make " + name);
  Unfinished unfinished{name};
  if (::fchmod(fd.get(), 0600) != 0) return fail_errno("protect " + name);
  CLOCHE_CHECK(write_all(fd.get(), name, content));
  CLOCHE_CHECK(make_later_than_old(fd.get(), path));
  if (::fsync(fd.get()) != 0) return fail_errno("sync " + name);
  if (::rename(name.c_str(), path.c_str()) != 0) return fail_errno("rename " + name);
  unfinished.renamed = true;
  return sync_directory_of(path);
}

Result<FileLock> FileLock::take(const std::string& path, std::chrono::milliseconds wait) {
  CLOCHE_CHECK(check_path(path));
  const std::string name = path + ".lock";
  UniqueFd fd(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail_errno("open " + name);
  const auto end = std::chrono::steady_clock::now() + wait;
  // flock itself knows no deadline, and a stopped process may hold the lock.
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return fail_errno("lock " + name);
    if (std::chrono::steady_clock::now() >= end) {
      return fail(ErrorCode::timeout, "another process has locked " + name + ": wait until it finishes, or stop it");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return FileLock(std::move(fd));
}

}  // namespace cloche::auth
