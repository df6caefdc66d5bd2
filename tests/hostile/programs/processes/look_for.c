// tries: nothing itself: it looks whether a process called `escapee`, or by its argument, lives
// must: find none
#include "../attack.h"

#include <dirent.h>

static int count(const char* wanted) {
  int found = 0;
  DIR* processes = opendir("/proc");
  for (struct dirent* entry; processes != NULL && (entry = readdir(processes)) != NULL;) {
    if (atoi(entry->d_name) <= 0) continue;
    char path[300], name[32] = "", status[1200] = "";
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    if (read(fd, status, sizeof status - 1) < 0) status[0] = '\0';
    close(fd);
    const char* begin = strchr(status, '(');
    const char* end = strrchr(status, ')');
    if (begin == NULL || end == NULL) continue;
    snprintf(name, sizeof name, "%.*s", (int)(end - begin - 1), begin + 1);
    // A dead one that waits to be reaped does nothing any more.
    if ((strcmp(name, wanted) == 0 || strstr(name, "Uid:") != NULL) && end[2] != 'Z') ++found;
  }
  if (processes != NULL) closedir(processes);
  return found;
}

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "escapee";
  int found = 0;
  // A hopper can be missed, so for a while.
  for (const int64_t end = now_ms() + 500; now_ms() < end && found == 0;) found += count(wanted);
  found > 0 ? hole("an %s lives", wanted) : held("no %s lives", wanted);
  return done();
}
