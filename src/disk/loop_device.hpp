// LoopDevice: an image as a block device of the host.
#pragma once

#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::disk {

class LoopDevice {
 public:
  // Attaches the image to a free device. The kernel detaches it with its last user: this object or a mount.
  // unsupported, with what to do, if the host has no loop devices.
  static Result<LoopDevice> attach(int image);

  const std::string& path() const { return path_; }

 private:
  LoopDevice(UniqueFd device, std::string path) : device_(std::move(device)), path_(std::move(path)) {}
  UniqueFd device_;
  std::string path_;
};

}  // namespace cloche::disk
