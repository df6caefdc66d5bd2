// tries: to open for writing what changes the host's kernel: sysrq, core_pattern, modprobe, sysctls, interrupts,
// cgroups must: be refused each one. Nothing is ever written: opening is proof enough, and safe where it works
#include "../attack.h"

int main(void) {
  static const char* const paths[] = {"/proc/sysrq-trigger",
                                      "/proc/sys/kernel/core_pattern",
                                      "/proc/sys/kernel/modprobe",
                                      "/proc/sys/kernel/hotplug",
                                      "/proc/sys/kernel/poweroff_cmd",
                                      "/proc/sys/kernel/usermodehelper/bset",
                                      "/proc/sys/kernel/hostname",
                                      "/proc/sys/kernel/domainname",
                                      "/proc/sys/kernel/randomize_va_space",
                                      "/proc/sys/kernel/yama/ptrace_scope",
                                      "/proc/sys/kernel/pid_max",
                                      "/proc/sys/kernel/ns_last_pid",
                                      "/proc/sys/kernel/panic",
                                      "/proc/sys/kernel/shmmax",
                                      "/proc/sys/kernel/unprivileged_bpf_disabled",
                                      "/proc/sys/kernel/perf_event_paranoid",
                                      "/proc/sys/kernel/kptr_restrict",
                                      "/proc/sys/vm/drop_caches",
                                      "/proc/sys/vm/overcommit_memory",
                                      "/proc/sys/vm/mmap_min_addr",
                                      "/proc/sys/vm/swappiness",
                                      "/proc/sys/vm/panic_on_oom",
                                      "/proc/sys/fs/suid_dumpable",
                                      "/proc/sys/fs/file-max",
                                      "/proc/sys/fs/protected_symlinks",
                                      "/proc/sys/fs/binfmt_misc/register",
                                      "/proc/sys/user/max_user_namespaces",
                                      "/proc/sys/net/ipv4/ip_forward",
                                      "/proc/sys/net/ipv4/ping_group_range",
                                      "/proc/sys/net/ipv4/ip_unprivileged_port_start",
                                      "/proc/irq/default_smp_affinity",
                                      "/proc/bus/pci/devices",
                                      "/proc/mtrr",
                                      "/proc/acpi/wakeup",
                                      "/proc/self/attr/exec",
                                      "/proc/1/oom_score_adj",
                                      "/proc/1/coredump_filter",
                                      "/proc/1/clear_refs",
                                      "/proc/1/comm",
                                      "/sys/kernel/uevent_helper",
                                      "/sys/kernel/mm/transparent_hugepage/enabled",
                                      "/sys/power/state",
                                      "/sys/fs/cgroup/cgroup.procs",
                                      "/sys/fs/cgroup/memory/release_agent",
                                      "/sys/fs/cgroup/release_agent",
                                      "/sys/devices/system/cpu/cpu1/online",
                                      "/sys/module/kernel/parameters/panic"};
  int there = 0;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    const int fd = open(paths[i], O_WRONLY | O_CLOEXEC);
    // A label of its own: with no security module loaded, it opens and each write is refused.
    if (fd >= 0 && strcmp(paths[i], "/proc/self/attr/exec") == 0) {
      held("%s opens, and takes nothing: %s", paths[i], write(fd, "x", 1) < 0 ? strerror(errno) : "?");
    } else if (fd >= 0) {
      hole("%s opens for writing", paths[i]);
    } else {
      held("%s: %s", paths[i], strerror(errno));
    }
    there += fd >= 0;
    if (fd >= 0) close(fd);
  }
  (void)there;
  return done();
}
