// tries: to leave a key in each keyring, and to find those of others: session, user, user session, process, persistent
// must: have no keyrings at all
#include "../attack.h"

int main(void) {
  static const struct {
    const char* name;
    long ring;
  } rings[] = {{"thread", -1}, {"process", -2}, {"session", -3}, {"user", -4}, {"user session", -5}};
  for (size_t i = 0; i < sizeof rings / sizeof *rings; ++i) {
    char what[100];
    snprintf(what, sizeof what, "add a key to the %s keyring", rings[i].name);
    const long key = syscall(SYS_add_key, "user", "cloche-planted", "x", 1, rings[i].ring);
    if (must_fail(what, key)) syscall(SYS_keyctl, 9, key, rings[i].ring);
    snprintf(what, sizeof what, "search the %s keyring", rings[i].name);
    const long found = syscall(SYS_keyctl, 10, rings[i].ring, "user", "nobody-has-this", 0);
    if (found < 0 && errno == ENOKEY)
      hole("%s: the kernel looked", what);
    else
      must_fail(what, found);
  }
  must_fail("join a session", syscall(SYS_keyctl, 1, NULL));
  // Into an invalid keyring: otherwise it would stay for days if it works.
  must_fail("persistent keyring", syscall(SYS_keyctl, 22, -1, -99) < 0 && errno != EPERM && errno != ENOSYS ? 0 : -1);
  must_fail("request a key",
            syscall(SYS_request_key, "user", "nobody-has-this", NULL, 0) < 0 && errno == ENOKEY ? 0 : -1);
  return done();
}
