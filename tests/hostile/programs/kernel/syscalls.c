// tries: system calls that a program has no business with, by classes; the argument says which class
// must: be refused each (EPERM, ENOSYS, EACCES): any other error says that the kernel itself looked at the arguments
//
// All arguments are invalid, so that a call that is not refused does nothing even for root: pointers to nowhere,
// descriptors that are closed, commands that do not exist.
#include "../attack.h"

#define BAD (long)BAD_POINTER
#define NONE -1L

struct Call {
  const char* class;
  const char* name;
  long number;
  long arguments[6];
};

static const struct Call calls[] = {
    {"mounts", "mount", SYS_mount, {BAD, BAD, BAD, 0, BAD}},
    {"mounts", "umount2", SYS_umount2, {BAD, 0}},
    {"mounts", "pivot_root", SYS_pivot_root, {BAD, BAD}},
    {"mounts", "chroot", SYS_chroot, {BAD}},
    {"mounts", "fsopen", 430, {BAD, 0xff}},
    {"mounts", "fsconfig", 431, {NONE, 99, BAD, BAD, 0}},
    {"mounts", "fsmount", 432, {NONE, 0xff, 0xffff}},
    {"mounts", "fspick", 433, {NONE, BAD, 0xff}},
    {"mounts", "open_tree", 428, {NONE, BAD, 0x7fffffff}},
    {"mounts", "move_mount", 429, {NONE, BAD, NONE, BAD, 0x7fffffff}},
    {"mounts", "mount_setattr", 442, {NONE, BAD, 0x7fffffff, BAD, 0}},
    {"mounts", "statmount", 457, {BAD, BAD, 0, 0x7fffffff}},
    {"mounts", "listmount", 458, {BAD, BAD, 0, 0x7fffffff}},
    {"mounts", "quotactl", SYS_quotactl, {0x7fffffff, BAD, 0, BAD}},
    {"mounts", "quotactl_fd", 443, {NONE, 0x7fffffff, 0, BAD}},
    {"mounts", "name_to_handle_at", SYS_name_to_handle_at, {NONE, BAD, BAD, BAD, 0}},
    {"mounts", "open_by_handle_at", SYS_open_by_handle_at, {NONE, BAD, 0}},
    {"mounts", "fanotify_init", SYS_fanotify_init, {0x7fffffff, 0}},
    {"namespaces", "unshare", SYS_unshare, {1}},
    {"namespaces", "setns", SYS_setns, {NONE, 0}},
    {"namespaces", "sethostname", SYS_sethostname, {BAD, NONE}},
    {"namespaces", "setdomainname", SYS_setdomainname, {BAD, NONE}},
    {"keys", "add_key", SYS_add_key, {BAD, BAD, BAD, 0, 0}},
    {"keys", "request_key", SYS_request_key, {BAD, BAD, BAD, 0}},
    {"keys", "keyctl", SYS_keyctl, {9999}},
    {"machine", "init_module", SYS_init_module, {BAD, 0, BAD}},
    {"machine", "finit_module", SYS_finit_module, {NONE, BAD, 0x7fffffff}},
    {"machine", "delete_module", SYS_delete_module, {BAD, 0}},
    {"machine", "create_module", 174, {BAD, 0}},
    {"machine", "get_kernel_syms", 177, {BAD}},
    {"machine", "query_module", 178, {BAD, 99, BAD, 0, BAD}},
    {"machine", "kexec_load", SYS_kexec_load, {0, 1000000, BAD, 0x7fff}},
    {"machine", "kexec_file_load", 320, {NONE, NONE, 0, BAD, 0x7fffffff}},
    {"machine", "reboot", SYS_reboot, {1, 1, 1, BAD}},
    {"machine", "swapon", SYS_swapon, {BAD, 0x7fffffff}},
    {"machine", "swapoff", SYS_swapoff, {BAD}},
    {"machine", "acct", SYS_acct, {BAD}},
    {"machine", "iopl", 172, {99}},
    {"machine", "ioperm", 173, {1000000, 1000000, 1}},
    {"machine", "syslog", SYS_syslog, {9999, 0, 0}},
    {"machine", "nfsservctl", 180, {9999, BAD, BAD}},
    {"machine", "uselib", 134, {BAD}},
    {"machine", "sysfs", 139, {9999, 0, 0}},
    {"machine", "_sysctl", 156, {BAD}},
    {"machine", "ustat", 136, {0, BAD}},
    {"machine", "lookup_dcookie", 212, {0, BAD, 1}},
    {"clock", "settimeofday", SYS_settimeofday, {BAD, 0}},
    {"clock", "clock_settime", SYS_clock_settime, {9999, BAD}},
    {"tracing", "bpf", SYS_bpf, {9999, BAD, 0}},
    {"tracing", "perf_event_open", SYS_perf_event_open, {BAD, 0, NONE, NONE, 0x7fffffff}},
    {"tracing", "userfaultfd", SYS_userfaultfd, {0x7fffffff}},
    {"tracing", "kcmp", SYS_kcmp, {NONE, NONE, 99, 0, 0}},
    {"tracing", "pidfd_getfd", 438, {NONE, NONE, 0x7f}},
    {"tracing", "process_madvise", 440, {NONE, BAD, 1, 99, 0x7fff}},
    {"tracing", "rseq_slice_or_later", 471, {BAD}},
    {"io", "io_uring_setup", 425, {1, BAD}},
    {"io", "io_uring_enter", 426, {NONE, 0, 0, 0x7fffffff, BAD, 0}},
    {"io", "io_uring_register", 427, {NONE, 0x7fff, BAD, 0}},
    {"memory", "mbind", 237, {1, 4096, 99, BAD, 64, 0x7fff}},
    {"memory", "set_mempolicy", 238, {99, BAD, 64}},
    {"memory", "migrate_pages", 256, {NONE, 64, BAD, BAD}},
    {"memory", "move_pages", 279, {NONE, 1, BAD, BAD, BAD, 0x7fff}},
    {"memory", "set_mempolicy_home_node", 450, {1, 4096, 9999, 0x7fff}},
    {"labels", "lsm_get_self_attr", 459, {99, BAD, BAD, 0x7fff}},
    {"labels", "lsm_set_self_attr", 460, {99, BAD, 0, 0x7fff}},
    {"labels", "lsm_list_modules", 461, {BAD, BAD, 0x7fff}},
    {"labels", "vhangup", SYS_vhangup, {0}},
};

static int refused(int error) { return error == EPERM || error == ENOSYS || error == EACCES; }

// Numbers that are unused, or that belong to system calls newer than this program.
static void unknown(void) {
  static const long ranges[][2] = {
      {181, 185}, {214, 215}, {236, 236}, {337, 423}, {472, 700}, {1000, 1100}, {0x7ffffff0, 0x7fffffff}};
  int tried = 0;
  for (size_t r = 0; r < sizeof ranges / sizeof *ranges; ++r) {
    for (long number = ranges[r][0]; number <= ranges[r][1]; ++number, ++tried) {
      // A number that an architecture bit makes something else is x32.c's.
      if (syscall(number & ~0x40000000L, BAD, BAD, BAD, BAD, BAD, BAD) >= 0 || !refused(errno))
        hole("call %ld: %s", number, strerror(errno));
    }
  }
  held("%d numbers", tried);
}

int main(int argc, char** argv) {
  const char* class = argc > 1 ? argv[1] : "";
  if (strcmp(class, "unknown") == 0) unknown();
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    const struct Call* call = &calls[i];
    if (strcmp(call->class, class) != 0) continue;
    const long* a = call->arguments;
    errno = 0;
    const long answer = syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (answer < 0 && refused(errno)) {
      held("%s: %s", call->name, strerror(errno));
    } else {
      hole("%s reached the kernel: %s", call->name, answer < 0 ? strerror(errno) : "it worked");
    }
  }
  return done();
}
