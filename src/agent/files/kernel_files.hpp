// Which file systems hold no files of anybody's, but windows into the kernel.
#pragma once

namespace cloche::agent {

// True for procfs, sysfs, control groups and the like. The descriptor may be one of O_PATH.
bool is_kernel_file_system(int fd);

}  // namespace cloche::agent
