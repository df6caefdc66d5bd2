// tries: every call that changes who it is: users, groups, file system ids, to root and to its neighbours' numbers
// must: remain uid and gid 1000 with no further group
#include "../attack.h"

#include <grp.h>
#include <sys/fsuid.h>

int main(void) {
  static const unsigned ids[] = {0, 1, 999, 1001, 65534};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; ++i) {
    const unsigned id = ids[i];
    if (fork() == 0) {
      char what[60];
#define TRY(call) snprintf(what, sizeof what, #call " %u", id), must_fail(what, call)
      TRY(setgroups(1, &id));
      TRY(setregid((gid_t)-1, id));
      TRY(setresgid(id, id, id));
      TRY(setgid(id));
      TRY(setreuid((uid_t)-1, id));
      setfsuid(id);
      if ((unsigned)setfsuid((uid_t)-1) == id && id != getuid()) hole("setfsuid %u", id);
      TRY(setresuid(id, id, id));
      TRY(setuid(id));
      _exit(0);
    }
    wait(NULL);
  }
  if (getgroups(0, NULL) > 0) {
    gid_t groups[64];
    const int n = getgroups(64, groups);
    for (int i = 0; i < n; ++i) {
      if (groups[i] != getgid()) hole("is in group %u", groups[i]);
    }
  }
  return done();
}
