// File systems that contain no user files but are interfaces of the kernel.
#pragma once

namespace cloche::agent {

// True for procfs, sysfs, control groups and the like. The descriptor may be one of O_PATH.
bool is_kernel_file_system(int fd);

}  // namespace cloche::agent
