/* Loaded into every program of a gVisor sandbox whose kernel refuses AT_NO_AUTOMOUNT (releases before 2023, Debian 12's
 * among them): without it `ls PATH`, `ls -l` and `stat` of coreutils 9 fail with "Invalid argument". Nothing is mounted
 * automatically in a sandbox, so the flag means nothing there, and is left out.
 *
 * Needs no library of its own, so that it can be loaded into any program that has a C library with these names. */
#define AT_NO_AUTOMOUNT 0x800

struct stat;
struct statx;
extern long syscall(long number, ...);

#if defined(__x86_64__)
enum { sys_fstatat = 262, sys_statx = 332 };
#elif defined(__aarch64__)
enum { sys_fstatat = 79, sys_statx = 291 };
#else
#error "the numbers of fstatat and statx on this architecture"
#endif

#define SHOWN __attribute__((visibility("default")))

SHOWN int statx(int directory, const char* path, int flags, unsigned mask, struct statx* about) {
  return (int)syscall(sys_statx, directory, path, flags & ~AT_NO_AUTOMOUNT, mask, about);
}

SHOWN int fstatat(int directory, const char* path, struct stat* about, int flags) {
  return (int)syscall(sys_fstatat, directory, path, about, flags & ~AT_NO_AUTOMOUNT);
}

SHOWN int fstatat64(int directory, const char* path, struct stat* about, int flags) {
  return fstatat(directory, path, about, flags);
}

/* What programs call that were built with a C library before 2.33. */
SHOWN int __fxstatat(int version, int directory, const char* path, struct stat* about, int flags) {
  (void)version;
  return fstatat(directory, path, about, flags);
}

SHOWN int __fxstatat64(int version, int directory, const char* path, struct stat* about, int flags) {
  (void)version;
  return fstatat(directory, path, about, flags);
}
