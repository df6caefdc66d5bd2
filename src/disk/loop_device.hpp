// LoopDevice: an image as a block device of the host.
#pragma once

#include <string>

#include "cloche/spec.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::disk {

class LoopDevice {
 public:
  // Attaches the image to a free device. The kernel detaches it with its last user: this object or a mount. Until then
  // the device keeps the open file, so that a lock (flock) of it is held that long, too.
  // unsupported, with what to do, if the host has no loop devices.
  static Result<LoopDevice> attach(int image, Access access = Access::read_write);

  const std::string& path() const { return path_; }

 private:
  LoopDevice(UniqueFd device, std::string path) : device_(std::move(device)), path_(std::move(path)) {}
  UniqueFd device_;
  std::string path_;
};

}  // namespace cloche::disk
