// tries: to raise its limits on files, their size, core dumps and locked memory, its own and others'
// must: be refused: the hard limits are what was asked for the sandbox
#include "../attack.h"

#include <sys/resource.h>

int main(void) {
  static const struct {
    const char* name;
    int resource;
    rlim_t most;
  } limits[] = {{"open files", RLIMIT_NOFILE, 4096}, {"file size", RLIMIT_FSIZE, 64 << 20}, {"core", RLIMIT_CORE, 0}};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    struct rlimit now;
    getrlimit(limits[i].resource, &now);
    if (now.rlim_max > limits[i].most) {
      hole("%s may be raised to %llu", limits[i].name, (unsigned long long)now.rlim_max);
    } else {
      held("%s: at most %llu", limits[i].name, (unsigned long long)now.rlim_max);
    }
    const struct rlimit more = {now.rlim_max == RLIM_INFINITY ? now.rlim_max : now.rlim_max + 1, RLIM_INFINITY};
    if (now.rlim_max != RLIM_INFINITY) must_fail(limits[i].name, setrlimit(limits[i].resource, &more));
    struct rlimit others;
    char what[60];
    snprintf(what, sizeof what, "%s of process 1", limits[i].name);
    must_fail(what, prlimit(1, limits[i].resource, NULL, &others));
    snprintf(what, sizeof what, "%s of its overseer", limits[i].name);
    must_fail(what, prlimit(overseer(), limits[i].resource, NULL, &others));
  }
  // Where a program runs out of descriptors.
  int opened = 0;
  while (opened < 8192 && open("/dev/null", O_RDONLY) >= 0) ++opened;
  opened < 8192 ? held("%d descriptors, then %s", opened, strerror(errno)) : hole("%d descriptors and no end", opened);
  for (int fd = 3; fd < 8300; ++fd) close(fd);
  return done();
}
