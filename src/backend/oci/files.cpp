#include "backend/oci/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/ids.hpp"

namespace cloche::oci {

namespace {

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write " + path);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// Empties the directory behind `fd`, which stays on one device: a mount below is reported, never emptied.
Status remove_children(UniqueFd fd, dev_t device, const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd.get()), ::closedir);
  if (!dir) return fail_errno("open " + path);
  fd.release();
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) return errno == 0 ? Status{} : fail_errno("list " + path);
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (::unlinkat(::dirfd(dir.get()), entry->d_name, 0) == 0 || errno == ENOENT) continue;
    const std::string child_path = path + "/" + entry->d_name;
    if (errno != EISDIR && errno != EPERM) return fail_errno("remove " + child_path);
    UniqueFd child(::openat(::dirfd(dir.get()), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child) return fail_errno("remove " + child_path);
    struct stat about;
    if (::fstat(child.get(), &about) != 0) return fail_errno("stat " + child_path);
    if (about.st_dev != device)
      return fail(ErrorCode::internal, "remove " + child_path + ": something is mounted there");
    CLOCHE_CHECK(remove_children(std::move(child), device, child_path));
    if (::unlinkat(::dirfd(dir.get()), entry->d_name, AT_REMOVEDIR) != 0) return fail_errno("remove " + child_path);
  }
}

}  // namespace

Result<std::string> read_file(const std::string& path, Bytes most) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  std::string content;
  char chunk[16384];
  while (true) {
    const ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + path);
    if (n == 0) return content;
    content.append(chunk, static_cast<std::size_t>(n));
    if (content.size() > most.count) return fail(ErrorCode::limit_reached, path + " is larger than " + to_string(most));
  }
}

Status write_file(const std::string& path, std::string_view content, mode_t mode) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) return fail_errno("open " + path);
  // The umask may have taken bits away.
  if (::fchmod(fd.get(), mode) != 0) return fail_errno("chmod " + path);
  return write_all(fd.get(), content, path);
}

Status write_file_atomically(const std::string& path, std::string_view content, mode_t mode) {
  const std::string fresh = path + ".new-" + random_hex(4);
  Status written = write_file(fresh, content, mode);
  if (written && ::rename(fresh.c_str(), path.c_str()) != 0) written = fail_errno("rename to " + path);
  if (!written) ::unlink(fresh.c_str());
  return written;
}

Status write_control(const std::string& path, std::string_view value) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  const ssize_t n = ::write(fd.get(), value.data(), value.size());
  if (n < 0) return fail_errno("write '" + std::string(value) + "' to " + path);
  if (static_cast<std::size_t>(n) != value.size()) return fail(ErrorCode::internal, "short write to " + path);
  return {};
}

Status make_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) {
    if (::chmod(path.c_str(), mode) != 0) return fail_errno("chmod " + path);
    return {};
  }
  if (errno != EEXIST) return fail_errno("create directory " + path);
  struct stat about;
  if (::stat(path.c_str(), &about) != 0) return fail_errno("stat " + path);
  if (!S_ISDIR(about.st_mode)) return fail(ErrorCode::already_exists, path + " is not a directory");
  return {};
}

Status make_directories(const std::string& path, mode_t mode) {
  for (std::size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    CLOCHE_CHECK(make_directory(path.substr(0, slash), mode));
  }
  return make_directory(path, mode);
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir) return fail_errno("open " + path);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) {
      if (errno != 0) return fail_errno("list " + path);
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Status remove_tree(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return fail_errno("remove " + path);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  struct stat about;
  if (::fstat(fd.get(), &about) != 0) return fail_errno("stat " + path);
  CLOCHE_CHECK(remove_children(std::move(fd), about.st_dev, path));
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT) return fail_errno("remove " + path);
  return {};
}

bool path_exists(const std::string& path) {
  struct stat about;
  return ::lstat(path.c_str(), &about) == 0;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == path.npos ? "/" : path.substr(0, slash);
}

}  // namespace cloche::oci
