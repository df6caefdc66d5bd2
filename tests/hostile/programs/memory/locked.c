// tries: memory that the host cannot take back: mlock, mlockall, huge pages, hugetlb files and segments
// must: get no huge pages of the host's reserve, and lock no more than its memory allows
#include "../attack.h"

#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>

int main(void) {
  const size_t huge = 2UL << 20;
  // With none reserved on the host ENOMEM says that the kernel looked.
  static const char* const how[] = {"mmap", "shmget", "memfd"};
  for (int i = 0; i < 3; ++i) {
    int failed = 1;
    if (i == 0)
      failed = mmap(NULL, huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) == MAP_FAILED;
    if (i == 1) failed = shmget(IPC_PRIVATE, huge, SHM_HUGETLB | IPC_CREAT | 0600) < 0;
    if (i == 2) {
      const int fd = memfd_create("huge", MFD_HUGETLB);
      failed = fd < 0 || ftruncate(fd, (off_t)huge) != 0 ||
               mmap(NULL, huge, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED;
    }
    failed ? held("huge page by %s: %s", how[i], strerror(errno)) : hole("huge page by %s", how[i]);
  }
  struct rlimit limit;
  getrlimit(RLIMIT_MEMLOCK, &limit);
  size_t locked = 0;
  const size_t piece = 1 << 20;
  // Where a sandbox's memory ends, the kill that follows is as good an answer; see the test.
  while (locked < 160UL << 20) {
    void* block = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || mlock(block, piece) != 0) break;
    locked += piece;
  }
  locked < 160UL << 20 ? held("%zu MB locked, then %s", locked >> 20, strerror(errno))
                       : hole("%zu MB locked", locked >> 20);
  must_fail("lock all that is to come", locked < 160UL << 20 ? -1 : mlockall(MCL_FUTURE));
  return done();
}
