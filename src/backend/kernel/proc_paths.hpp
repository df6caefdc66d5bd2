// Paths of /proc and /sys that show or change the host.
#pragma once

#include <array>

namespace cloche {

// Hidden completely.
inline constexpr std::array masked_paths = {"/proc/acpi",
                                            "/proc/asound",
                                            "/proc/interrupts",
                                            "/proc/kcore",
                                            "/proc/keys",
                                            "/proc/latency_stats",
                                            "/proc/pressure",
                                            "/proc/sched_debug",
                                            "/proc/scsi",
                                            "/proc/timer_list",
                                            "/proc/timer_stats",
                                            "/sys/firmware",
                                            "/sys/devices/virtual/powercap"};

// Seen, and not written to.
inline constexpr std::array read_only_paths = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                               "/proc/sysrq-trigger"};

}  // namespace cloche
