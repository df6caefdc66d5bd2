// tries: to make device nodes of memory, disks, terminals and fuse in every place it may write, and to open them
// must: be refused each one; none of these places honours a device
#include "../attack.h"

#include <sys/sysmacros.h>

int main(void) {
  static const struct {
    const char* name;
    mode_t kind;
    unsigned major, minor;
  } nodes[] = {{"mem", S_IFCHR, 1, 1},    {"null", S_IFCHR, 1, 3},    {"kmsg", S_IFCHR, 1, 11},
               {"tty0", S_IFCHR, 4, 0},   {"fuse", S_IFCHR, 10, 229}, {"tun", S_IFCHR, 10, 200},
               {"kvm", S_IFCHR, 10, 232}, {"loop0", S_IFBLK, 7, 0},   {"sda", S_IFBLK, 8, 0},
               {"vda", S_IFBLK, 254, 0},  {"nvme", S_IFBLK, 259, 0}};
  static const char* const places[] = {"/tmp", "/workspace", "/dev/shm", "/dev"};
  for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
      char path[100];
      snprintf(path, sizeof path, "%s/node-%s", places[p], nodes[i].name);
      char what[160];
      snprintf(what, sizeof what, "mknod %s", path);
      if (must_fail(what, mknod(path, nodes[i].kind | 0666, makedev(nodes[i].major, nodes[i].minor)))) unlink(path);
    }
  }
  // Made elsewhere, such as by an archive: even then it must not open. Only the harmless one is opened.
  if (mknod("/tmp/node", S_IFCHR | 0666, makedev(1, 3)) == 0) {
    must_fail("open a device node in /tmp", open("/tmp/node", O_RDWR));
    unlink("/tmp/node");
  }
  return done();
}
