#include "http/server/unix_socket_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cloche::http {

namespace {

UniqueFd new_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool fits = !path.empty() && path.size() < sizeof address.sun_path && path.find('\0') == std::string::npos;
  if (!fits) return fail(ErrorCode::invalid_argument, "invalid Unix socket path: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

// Removes a socket file that has no listener any more.
Status remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return fail_errno("inspect " + path);
  if (!S_ISSOCK(status.st_mode)) return fail(ErrorCode::already_exists, path + " exists and is not a socket");
  const UniqueFd probe = new_socket();
  if (!probe) return fail_errno("socket");
  if (::connect(probe.get(), generic(address), sizeof address) == 0 || errno != ECONNREFUSED) {
    return fail(ErrorCode::already_exists, path + ": another server is listening there");
  }
  if (::unlink(path.c_str()) != 0) return fail_errno("remove " + path);
  return {};
}

}  // namespace

Result<UnixSocketFile::Bound> UnixSocketFile::bind(const std::string& path, mode_t mode) {
  CLOCHE_TRY(const sockaddr_un address, address_of(path));
  // A socket that is bound and does not listen yet looks stale: only one server at a time may be between the two.
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  const UniqueFd lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return fail_errno("open " + directory);
  if (::flock(lock.get(), LOCK_EX) != 0) return fail_errno("lock " + directory);

  UniqueFd socket = new_socket();
  if (!socket) return fail_errno("socket");
  if (::bind(socket.get(), generic(address), sizeof address) != 0) {
    if (errno != EADDRINUSE) return fail_errno("bind " + path);
    CLOCHE_CHECK(remove_stale(path, address));
    if (::bind(socket.get(), generic(address), sizeof address) != 0) return fail_errno("bind " + path);
  }
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return fail_errno("inspect " + path);
  UnixSocketFile file(path, status.st_dev, status.st_ino);
  if (::chmod(path.c_str(), mode) != 0) return fail_errno("set mode of " + path);
  if (::listen(socket.get(), SOMAXCONN) != 0) return fail_errno("listen on " + path);
  return Bound{std::move(socket), std::move(file)};
}

UnixSocketFile::UnixSocketFile(UnixSocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}

UnixSocketFile::~UnixSocketFile() {
  if (path_.empty()) return;
  struct stat status{};
  const bool ours = ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  if (ours) ::unlink(path_.c_str());
}

}  // namespace cloche::http
