// Where GPUs and their drivers are searched.
#pragma once

#include <string>
#include <vector>

namespace cloche::gpu {

// The host's own, except in tests.
struct Places {
  std::vector<std::string> specifications = {"/etc/cdi", "/var/run/cdi"};  // a later one replaces a device of a former
  std::string devices = "/dev";
  std::string driver = "/proc/driver/nvidia";
  std::vector<std::string> libraries = {"/usr/lib/x86_64-linux-gnu",
                                        "/usr/lib/aarch64-linux-gnu",
                                        "/usr/lib64",
                                        "/usr/lib",
                                        "/usr/lib/x86_64-linux-gnu/nvidia/current",
                                        "/usr/local/nvidia/lib64",
                                        "/usr/local/nvidia/lib",
                                        "/usr/local/lib"};
  std::vector<std::string> programs = {"/usr/bin", "/usr/local/nvidia/bin", "/usr/local/bin"};
};

}  // namespace cloche::gpu
