// tries: to read the host's kernel: its memory, its symbols' addresses, its timers, keys, log, physical memory map
// must: find nothing there, or nothing that tells
#include "../attack.h"

#include <dirent.h>

// A line with a number in hexadecimal that is not zero, where addresses stand.
static int tells_addresses(const char* text) {
  for (const char* line = text; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL) {
    while (*line == ' ') ++line;
    if (strtoull(line, NULL, 16) != 0) return 1;
  }
  return 0;
}

int main(void) {
  static const char* const silent[] = {"/proc/kcore",
                                       "/proc/keys",
                                       "/proc/timer_list",
                                       "/proc/sched_debug",
                                       "/proc/latency_stats",
                                       "/proc/timer_stats",
                                       "/proc/kmsg",
                                       "/proc/kpagecount",
                                       "/proc/kpageflags",
                                       "/proc/kpagecgroup",
                                       "/proc/slabinfo",
                                       "/proc/pagetypeinfo",
                                       "/proc/vmallocinfo",
                                       "/proc/acpi/event",
                                       "/proc/scsi/scsi",
                                       "/proc/asound/cards",
                                       "/proc/interrupts",
                                       "/sys/firmware/memmap/0/start",
                                       "/sys/firmware/dmi/tables/DMI",
                                       "/sys/firmware/acpi/tables/DSDT",
                                       "/sys/kernel/debug/sleep_time",
                                       "/sys/kernel/debug/fault_around_bytes",
                                       "/sys/kernel/notes",
                                       "/sys/kernel/security/lsm",
                                       "/dev/mem",
                                       "/dev/kmem",
                                       "/dev/port",
                                       "/dev/kmsg",
                                       "/sys/class/dmi/id/product_uuid",
                                       "/sys/devices/virtual/dmi/id/product_serial"};
  char bytes[4096];
  for (size_t i = 0; i < sizeof silent / sizeof *silent; ++i) {
    const int fd = open(silent[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    // The log is read away from others: that it opens is enough.
    const int is_log = strstr(silent[i], "kmsg") != NULL;
    const ssize_t n = fd >= 0 ? (is_log ? 1 : read(fd, bytes, sizeof bytes)) : -1;
    if (n > 0) {
      hole("%s tells %zd bytes", silent[i], n);
    } else {
      held("%s: %s", silent[i], n == 0 ? "empty" : strerror(errno));
    }
    if (fd >= 0) close(fd);
  }
  static const char* const addresses[] = {"/proc/kallsyms", "/proc/iomem", "/proc/ioports", "/proc/modules"};
  for (size_t i = 0; i < sizeof addresses / sizeof *addresses; ++i) {
    const int fd = open(addresses[i], O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, bytes, sizeof bytes - 1) : -1;
    bytes[n > 0 ? n : 0] = '\0';
    // Names are not secret, and the first column of the module list is a name.
    const char* text =
        strcmp(addresses[i], "/proc/modules") == 0 && strstr(bytes, "0x") != NULL ? strstr(bytes, "0x") : bytes;
    if (strcmp(addresses[i], "/proc/modules") == 0 && text == bytes) text = "";
    if (n > 0 && tells_addresses(text)) {
      hole("%s tells addresses", addresses[i]);
    } else {
      held("%s", addresses[i]);
    }
    if (fd >= 0) close(fd);
  }
  return done();
}
