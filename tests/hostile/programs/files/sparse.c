// tries: files that claim terabytes: ftruncate, a write far out, fallocate that keeps the size, copy_file_range
// must: be refused by the limit on a file's size
#include "../attack.h"

int main(void) {
  signal(SIGXFSZ, SIG_IGN);
  const int fd = open("/workspace/sparse", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  const off_t far_out = (off_t)1 << 40;
  must_fail("ftruncate to a terabyte", ftruncate(fd, far_out));
  must_fail("write a terabyte out", pwrite(fd, "x", 1, far_out));
  must_fail("fallocate a terabyte", fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, far_out));
  must_fail("truncate by name", truncate("/workspace/sparse", far_out));
  struct stat about;
  if (fstat(fd, &about) == 0 && about.st_size > 64 << 20) hole("the file claims %lld bytes", (long long)about.st_size);
  unlink("/workspace/sparse");
  return done();
}
