#include "volume/image_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>

namespace cloche::volume {

namespace {

using namespace std::chrono_literals;

constexpr auto between_tries = 5ms;

// Of the superblock: where the features are that a kernel must know, and the one that says so.
constexpr off_t features_at = 1024 + 0x60;
constexpr std::uint32_t feature_recover = 0x4;

}  // namespace

Result<UniqueFd> open_locked(const std::string& path, Access access, const CancelToken& token) {
  const bool writes = access == Access::read_write;
  UniqueFd image(::open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC));
  if (!image && (errno == ENOENT || errno == ENOTDIR)) return fail(ErrorCode::not_found, "no such volume");
  if (!image) return fail_errno("open a volume");
  CLOCHE_CHECK(wait_for_lock(image.get(), access, token));
  struct stat about{};
  if (::fstat(image.get(), &about) != 0) return fail_errno("stat a volume");
  if (about.st_nlink == 0) return fail(ErrorCode::not_found, "no such volume");
  return image;
}

Status wait_for_lock(int image, Access access, const CancelToken& token) {
  while (::flock(image, (access == Access::read_write ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return fail_errno("lock a volume");
    if (!token.check("lock a volume")) {
      return fail(ErrorCode::limit_reached, "the volume is still in use by a sandbox that is being removed; retry");
    }
    std::this_thread::sleep_for(between_tries);
  }
  return {};
}

Result<bool> needs_recovery(int image) {
  unsigned char bytes[4] = {};
  const ssize_t read = ::pread(image, bytes, sizeof bytes, features_at);
  if (read < 0) return fail_errno("read a volume");
  if (read != static_cast<ssize_t>(sizeof bytes)) return fail(ErrorCode::internal, "the image of a volume is cut off");
  const std::uint32_t features =
      bytes[0] | (std::uint32_t{bytes[1]} << 8U) | (std::uint32_t{bytes[2]} << 16U) | (std::uint32_t{bytes[3]} << 24U);
  return (features & feature_recover) != 0;
}

}  // namespace cloche::volume
