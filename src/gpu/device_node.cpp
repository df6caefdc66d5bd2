#include "gpu/device_node.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

namespace cloche::gpu {

Result<DeviceNode> look_at_node(const std::string& source, const std::string& target, NodeUse use) {
  // What a link leads to is what would be mounted.
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(source.c_str(), nullptr), std::free);
  struct stat about;
  if (!real || ::stat(real.get(), &about) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return fail(ErrorCode::not_found, "there is no device " + source);
    return fail_errno("stat " + source);
  }
  if (!S_ISCHR(about.st_mode)) return fail(ErrorCode::invalid_argument, source + " is not a character device");
  const mode_t needed = use == NodeUse::read ? S_IROTH : S_IROTH | S_IWOTH;
  if ((about.st_mode & needed) != needed) {
    return fail(ErrorCode::permission_denied,
                source +
                    " cannot be used by other users, and so not in a sandbox; run chmod o+rw on it (NVIDIA: the "
                    "module option NVreg_DeviceFileMode=0666)");
  }
  return DeviceNode{real.get(), target, ::gnu_dev_major(about.st_rdev), ::gnu_dev_minor(about.st_rdev)};
}

}  // namespace cloche::gpu
