// tries: to hold 160 MB where 64 are allowed; the argument says what of: heap, brk, stack, noreserve, shared, sysv,
// posix,
//        memfd, secret, threads, tree, pipes, sockets, tables, file, populate, vmsplice, msgqueues
// must: be refused or killed, and be told apart from a crash: `memory_limit`
#include "../attack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

static const size_t goal = 160UL << 20;
static const size_t piece = 4UL << 20;

static size_t in_pieces(int flags) {
  size_t have = 0;
  for (; have < goal; have += piece) {
    void* block = mmap(NULL, piece, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    memset(block, 1, piece);
  }
  return have;
}
static size_t heap(void) {
  size_t have = 0;
  for (char* block; have < goal && (block = malloc(piece)) != NULL; have += piece) memset(block, 1, piece);
  return have;
}
static size_t by_brk(void) {
  size_t have = 0;
  for (char* block; have < goal && (block = sbrk((intptr_t)piece)) != (void*)-1; have += piece) memset(block, 1, piece);
  return have;
}
static __attribute__((noinline)) size_t deeper(size_t left) {
  volatile char frame[65536];
  memset((char*)frame, 1, sizeof frame);
  return left < sizeof frame ? frame[1] - 1UL : sizeof frame + deeper(left - sizeof frame) + frame[0] - 1UL;
}
static void* deep(void* unused) {
  (void)unused;
  return (void*)(deeper(goal - (1 << 20)) + (2 << 20));
}
static size_t stack(void) {
  pthread_attr_t large;
  pthread_attr_init(&large);
  pthread_attr_setstacksize(&large, goal + (8 << 20));
  pthread_t thread;
  void* depth = NULL;
  if (pthread_create(&thread, &large, deep, NULL) != 0) return 0;
  pthread_join(thread, &depth);
  return (size_t)depth;
}
static size_t noreserve(void) { return in_pieces(MAP_PRIVATE | MAP_NORESERVE); }
static size_t shared(void) { return in_pieces(MAP_SHARED); }
static size_t populate(void) { return in_pieces(MAP_PRIVATE | MAP_POPULATE | MAP_LOCKED); }
static size_t sysv(void) {
  size_t have = 0;
  for (; have < goal; have += piece) {
    const int id = shmget(IPC_PRIVATE, piece, IPC_CREAT | 0600);
    void* block = id >= 0 ? shmat(id, NULL, 0) : (void*)-1;
    if (block == (void*)-1) break;
    shmctl(id, IPC_RMID, NULL);
    memset(block, 1, piece);
  }
  return have;
}
static size_t in_files(int (*make)(int)) {
  static char block[1 << 20];
  memset(block, 1, sizeof block);
  size_t have = 0;
  for (int number = 0; have < goal; ++number) {
    const int fd = make(number);
    if (fd < 0) break;
    for (size_t size = 0; size < 8 << 20; size += sizeof block, have += sizeof block) {
      if (write(fd, block, sizeof block) != sizeof block) return have;
    }
  }
  return have;
}
static int new_posix(int number) {
  char name[30];
  snprintf(name, sizeof name, "/hog%d", number);
  const int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
  shm_unlink(name);
  return fd;
}
static int new_memfd(int number) { return number < 1000 ? memfd_create("hog", 0) : -1; }
static int new_file(int number) {
  static const char* const places[] = {"/workspace", "/tmp", "/dev/shm", "/var/tmp"};
  for (int i = 0; i < 4; ++i) {
    char path[60];
    snprintf(path, sizeof path, "%s/hog%d", places[(number + i) % 4], number);
    const int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    unlink(path);
    if (fd >= 0) return fd;
  }
  return -1;
}
static size_t posix(void) { return in_files(new_posix); }
static size_t memfd(void) { return in_files(new_memfd); }
static size_t file(void) { return in_files(new_file); }
static size_t secret(void) {
  size_t have = 0;
  for (; have < goal; have += piece) {
    const int fd = (int)syscall(SYS_memfd_secret, 0);
    if (fd < 0 || ftruncate(fd, (off_t)piece) != 0) break;
    char* block = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (block == MAP_FAILED) break;
    memset(block, 1, piece);
  }
  return have;
}
static volatile size_t touched;
static void* touch(void* unused) {
  char block[1 << 20];
  memset(block, 1, sizeof block);
  *(volatile char*)block = 1;
  __atomic_add_fetch(&touched, sizeof block, __ATOMIC_SEQ_CST);
  if (unused == NULL) pause();
  return unused;
}
static size_t threads(void) {
  size_t have = 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 2 << 20);
  for (pthread_t thread; have < goal && pthread_create(&thread, &attributes, touch, NULL) == 0;) have += 1 << 20;
  for (int i = 0; i < 5000 && touched < have; ++i) nap(1);
  return touched;
}
// Many that are small each; the tree of them is not.
static size_t tree(void) {
  int ready[2];
  if (pipe(ready) != 0) return 0;
  size_t have = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      char* block = malloc(8 << 20);
      if (block != NULL) memset(block, 1, 8 << 20);
      if (write(ready[1], "x", 1) != 1) _exit(1);
      pause();
    }
    char byte;
    // Its answer, or its death.
    for (int tries = 0; tries < 3000; ++tries) {
      if (waitpid(child, NULL, WNOHANG) == child) return have;
      fcntl(ready[0], F_SETFL, O_NONBLOCK);
      if (read(ready[0], &byte, 1) == 1) break;
      nap(1);
    }
    have += 8 << 20;
  }
  // Room may have been made by the end of an earlier one.
  nap(50);
  while (have > 0 && waitpid(-1, NULL, WNOHANG) > 0) have -= 8 << 20;
  return have;
}
static size_t pipes(void) {
  static char block[4096];
  size_t have = 0;
  for (int fds[2]; have < goal && pipe2(fds, O_NONBLOCK) == 0;) {
    fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
    const size_t before = have;
    for (ssize_t n; have < goal && (n = write(fds[1], block, sizeof block)) > 0;) have += (size_t)n;
    if (have == before) break;
  }
  return have;
}
static size_t sockets(void) {
  static char block[65536];
  size_t have = 0;
  for (int fds[2]; have < goal && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0;) {
    const int large = 8 << 20;
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &large, sizeof large);
    const size_t before = have;
    for (ssize_t n; have < goal && (n = write(fds[0], block, sizeof block)) > 0;) have += (size_t)n;
    if (have == before) break;
  }
  return have;
}
// A page here and there: the tables that map them are 4 KB for each 2 MB of addresses.
static size_t tables(void) {
  const size_t span = 2UL << 20;
  const size_t count = goal / 8192;
  char* block = mmap(NULL, span * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return 0;
  madvise(block, span * count, MADV_NOHUGEPAGE);
  size_t have = 0;
  for (size_t i = 0; i < count; ++i, have += 8192) block[i * span] = 1;
  return have;
}
static size_t by_vmsplice(void) {
  size_t have = 0;
  for (int fds[2]; have < goal && pipe2(fds, O_NONBLOCK) == 0;) {
    const size_t size = 64 << 10;
    char* block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    memset(block, 1, size);
    struct iovec vector = {block, size};
    const ssize_t n = vmsplice(fds[1], &vector, 1, SPLICE_F_GIFT);
    munmap(block, size);
    if (n <= 0) break;
    have += (size_t)n;
  }
  return have;
}
static size_t msgqueues(void) {
  struct {
    long kind;
    char text[8000];
  } message = {1, ""};
  size_t have = 0;
  for (int id; have < goal && (id = msgget(IPC_PRIVATE, IPC_CREAT | 0600)) >= 0;) {
    const size_t before = have;
    while (have < goal && msgsnd(id, &message, sizeof message.text, IPC_NOWAIT) == 0) have += sizeof message.text;
    if (have == before) break;
  }
  return have;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    size_t (*way)(void);
  } ways[] = {{"heap", heap},           {"brk", by_brk},           {"stack", stack},
              {"noreserve", noreserve}, {"shared", shared},        {"populate", populate},
              {"sysv", sysv},           {"posix", posix},          {"memfd", memfd},
              {"file", file},           {"secret", secret},        {"threads", threads},
              {"tree", tree},           {"pipes", pipes},          {"sockets", sockets},
              {"tables", tables},       {"vmsplice", by_vmsplice}, {"msgqueues", msgqueues}};
  // More descriptors where a limit allows it.
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  signal(SIGXFSZ, SIG_IGN);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (argc < 2 || strcmp(argv[1], ways[i].name) != 0) continue;
    held("taking: %s", ways[i].name);
    errno = 0;
    const size_t have = ways[i].way();
    if (have >= goal) {
      hole("%s: holds %zu MB", ways[i].name, have >> 20);
    } else {
      held("%s: %zu MB, then %s", ways[i].name, have >> 20, strerror(errno));
    }
    return done();
  }
  return 2;
}
