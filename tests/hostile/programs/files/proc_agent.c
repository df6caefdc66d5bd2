// tries: /proc/PID/* of every process that is not its own: memory, environment, descriptors, root, cwd, program, maps
// must: be able to open none of them, nor to follow any of their links
#include "../attack.h"

#include <dirent.h>
#include <sys/sysmacros.h>

static void try_process(pid_t pid) {
  static const char* const files[] = {
      "mem",     "environ",     "maps",     "smaps",      "auxv",           "io",   "stack",
      "syscall", "personality", "pagemap",  "clear_refs", "map_files/",     "fd/0", "fd/1",
      "fd/2",    "fd/3",        "fdinfo/0", "cwd/",       "root/",          "exe",  "ns/pid",
      "ns/mnt",  "ns/net",      "ns/user",  "task/1/mem", "root/etc/passwd"};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    char path[100];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char byte;
    // What can be opened but not read reveals nothing.
    const ssize_t n = fd >= 0 ? (strstr(files[i], "mem") != NULL ? pread(fd, &byte, 1, 4096) : read(fd, &byte, 1)) : -1;
    // A foreign descriptor is a hole as soon as it can be opened, unless it is public anyway.
    struct stat about;
    const int is_descriptor =
        fd >= 0 && strncmp(files[i], "fd/", 3) == 0 && fstat(fd, &about) == 0 && about.st_rdev != makedev(1, 3);
    if (fd >= 0 && (n > 0 || is_descriptor || errno == EISDIR || (n < 0 && strncmp(files[i], "ns/", 3) == 0))) {
      hole("%s opens", path);
    } else {
      held("%s: %s", path, n == 0 ? "empty" : strerror(errno));
    }
    if (fd >= 0) close(fd);
    char target[200];
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length > 0 && (strncmp(files[i], "fd/", 3) == 0 || strncmp(files[i], "exe", 3) == 0)) {
      target[length] = '\0';
      // A name alone gives no access; that some kernels (gVisor) show it is documented.
      held("%s is called %s", path, target);
    }
  }
}

int main(void) {
  try_process(1);
  try_process(overseer());
  DIR* processes = opendir("/proc");
  for (struct dirent* entry; processes != NULL && (entry = readdir(processes)) != NULL;) {
    const pid_t pid = atoi(entry->d_name);
    struct stat about;
    char path[300];
    snprintf(path, sizeof path, "/proc/%s", entry->d_name);
    if (pid > 1 && pid != getpid() && pid != overseer() && stat(path, &about) == 0 && about.st_uid != getuid())
      try_process(pid);
  }
  return done();
}
