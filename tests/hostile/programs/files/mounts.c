// tries: to change what is mounted where; the argument says how: classic, remount, unmask, api, overlay, cgroup
// must: be refused each time
#include "../attack.h"

#include <linux/mount.h>
#include <sys/mount.h>

static void classic(void) {
  mkdir("/tmp/m", 0755);
  if (must_fail("mount a tmpfs", mount("x", "/tmp/m", "tmpfs", 0, ""))) umount("/tmp/m");
  if (must_fail("mount a proc", mount("x", "/tmp/m", "proc", 0, ""))) umount("/tmp/m");
  if (must_fail("mount a sysfs", mount("x", "/tmp/m", "sysfs", 0, ""))) umount("/tmp/m");
  if (must_fail("bind", mount("/etc", "/tmp/m", NULL, MS_BIND | MS_REC, NULL))) umount2("/tmp/m", MNT_DETACH);
  must_fail("make shared", mount(NULL, "/tmp", NULL, MS_SHARED, NULL));
  must_fail("move", mount("/workspace", "/tmp/m", NULL, MS_MOVE, NULL));
}

static void remount(void) {
  static const char* const places[] = {"/", "/attack", "/usr", "/proc", "/etc", "/sys", "/dev"};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    char what[100];
    snprintf(what, sizeof what, "remount %s writable", places[i]);
    must_fail(what, mount(NULL, places[i], NULL, MS_REMOUNT | MS_BIND, NULL));
  }
  must_fail("remount /tmp larger", mount(NULL, "/tmp", NULL, MS_REMOUNT, "size=1g"));
  must_fail("remount /tmp with devices and suid", mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL));
}

static void unmask(void) {
  static const char* const masked[] = {
      "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/sys/firmware",
      "/proc",       "/tmp",       "/dev/shm",         "/workspace"};
  for (size_t i = 0; i < sizeof masked / sizeof *masked; ++i) {
    char what[100];
    snprintf(what, sizeof what, "uncover %s", masked[i]);
    must_fail(what, umount2(masked[i], MNT_DETACH | UMOUNT_NOFOLLOW));
  }
}

static void api(void) {
  const long context = syscall(SYS_fsopen, "tmpfs", 0);
  must_fail("fsopen", context);
  must_fail("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE));
  must_fail("fspick", syscall(SYS_fspick, AT_FDCWD, "/tmp", 0));
  if (context >= 0) {
    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
    must_fail("fsmount", syscall(SYS_fsmount, context, 0, 0));
  }
  struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
  must_fail("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/attack", 0, &attributes, sizeof attributes));
}

static void overlay(void) {
  mkdir("/tmp/u", 0755);
  mkdir("/tmp/w", 0755);
  mkdir("/tmp/o", 0755);
  if (must_fail("overlay over /etc",
                mount("x", "/tmp/o", "overlay", 0, "lowerdir=/etc,upperdir=/tmp/u,workdir=/tmp/w"))) {
    umount2("/tmp/o", MNT_DETACH);
  }
  must_fail("overlay over the program", mount("x", "/tmp/o", "overlay", 0, "lowerdir=/usr:/etc"));
  must_fail("fuse", mount("x", "/tmp/o", "fuse", 0, "fd=0,rootmode=40000,user_id=0,group_id=0"));
  rmdir("/tmp/o");
}

// Nothing is written in one that can be mounted: that it can be is enough.
static void cgroup(void) {
  static const char* const kinds[][2] = {
      {"cgroup2", ""}, {"cgroup", "memory"}, {"cgroup", "pids"}, {"cgroup", "none,name=planted"}};
  mkdir("/tmp/c", 0755);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds - 1; ++i) {
    char what[100];
    snprintf(what, sizeof what, "mount %s %s", kinds[i][0], kinds[i][1]);
    if (must_fail(what, mount("x", "/tmp/c", kinds[i][0], MS_RDONLY, kinds[i][1]))) umount2("/tmp/c", MNT_DETACH);
  }
  must_fail("write a cgroup of its own", open("/sys/fs/cgroup/cgroup.procs", O_WRONLY));
  must_fail("make a cgroup", mkdir("/sys/fs/cgroup/memory/planted", 0755));
  must_fail("write notify_on_release", open("/sys/fs/cgroup/memory/notify_on_release", O_WRONLY));
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*way)(void);
  } ways[] = {{"classic", classic}, {"remount", remount}, {"unmask", unmask},
              {"api", api},         {"overlay", overlay}, {"cgroup", cgroup}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) {
      ways[i].way();
      return done();
    }
  }
  return 2;
}
