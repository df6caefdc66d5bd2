#include "disk/loop_device.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "core/fault_point.hpp"

namespace cloche::disk {

namespace {

// Between the search for a free device and its use another process may take it.
constexpr int most_attempts = 64;

std::unexpected<Error> no_loop(const std::string& what) {
  Error error = errno_error(what, errno);
  return fail(ErrorCode::unsupported,
              error.message + "; disks need loop devices: run modprobe loop, and in a container give it /dev");
}

}  // namespace

Result<LoopDevice> LoopDevice::attach(int image, Access access) {
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return no_loop("open /dev/loop-control");
  // Direct: the pages of a file are in memory once, not twice.
  loop_config config{};
  config.fd = static_cast<__u32>(image);
  config.block_size = 4096;
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
  if (access == Access::read_only) config.info.lo_flags |= LO_FLAGS_READ_ONLY;
  const int mode = access == Access::read_only ? O_RDONLY : O_RDWR;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return no_loop("find a free loop device");
    std::string path = "/dev/loop" + std::to_string(number);
    UniqueFd device(::open(path.c_str(), mode | O_CLOEXEC));
    if (!device && errno != ENXIO) return no_loop("open " + path);
    if (!device) continue;
    if (::ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) {
      fault_point<"disk.attached">();
      return LoopDevice(std::move(device), std::move(path));
    }
    if (errno != EBUSY && errno != ENXIO) return no_loop("attach an image to " + path);
  }
  return fail(ErrorCode::unavailable, "cannot attach an image: other processes took every free loop device; retry");
}

}  // namespace cloche::disk
