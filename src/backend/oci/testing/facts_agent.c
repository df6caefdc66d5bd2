// Replaces the agent in tests of the isolation: answers one command per line with what it finds inside the sandbox.
// Each answer ends with a line that has a single dot.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say_error(void) { printf("error %d %s\n", errno, strerror(errno)); }

static void show_file(const char* path) {
  char chunk[4096];
  const int fd = open(path, O_RDONLY);
  if (fd < 0) {
    say_error();
    return;
  }
  ssize_t n;
  while ((n = read(fd, chunk, sizeof chunk)) > 0) fwrite(chunk, 1, (size_t)n, stdout);
  close(fd);
  printf("\n");
}

static void list_directory(const char* path) {
  DIR* dir = opendir(path);
  if (dir == NULL) {
    say_error();
    return;
  }
  const struct dirent* entry;
  while ((entry = readdir(dir)) != NULL) printf("%s\n", entry->d_name);
  closedir(dir);
}

static void stat_path(const char* path) {
  struct stat about;
  if (lstat(path, &about) != 0) {
    say_error();
    return;
  }
  printf("%o %u %u\n", about.st_mode, about.st_uid, about.st_gid);
}

static void write_path(const char* path) {
  const int fd = open(path, O_WRONLY | O_CREAT, 0644);
  if (fd < 0 || write(fd, "x", 1) != 1) {
    say_error();
  } else {
    printf("ok\n");
  }
  if (fd >= 0) close(fd);
}

static void fill(const char* path) {
  static char block[65536];
  long long total = 0;
  const int fd = open(path, O_WRONLY | O_CREAT, 0644);
  ssize_t n = -1;
  while (fd >= 0 && (n = write(fd, block, sizeof block)) > 0) total += n;
  printf("%lld ", total);
  say_error();
  if (fd >= 0) close(fd);
  unlink(path);
}

static void list_network(void) {
  char name[IF_NAMESIZE];
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  for (unsigned int i = 1; i < 64; ++i) {
    if (if_indextoname(i, name) == NULL) continue;
    struct ifreq request;
    memset(&request, 0, sizeof request);
    strncpy(request.ifr_name, name, IF_NAMESIZE - 1);
    ioctl(fd, SIOCGIFFLAGS, &request);
    printf("interface %s %s\n", name, request.ifr_flags & IFF_UP ? "up" : "down");
  }
  struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr = {htonl(0x08080808)}};
  printf("outside: ");
  if (connect(fd, (struct sockaddr*)&far, sizeof far) == 0) {
    printf("reached\n");
  } else {
    say_error();
  }
  close(fd);
}

static void* do_nothing(void* argument) { return argument; }

static void start_thread(void) {
  pthread_t thread;
  errno = pthread_create(&thread, NULL, do_nothing, NULL);
  if (errno != 0) {
    say_error();
    return;
  }
  pthread_join(thread, NULL);
  printf("ok\n");
}

static void eat(size_t mebibytes) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (size_t i = 0; i < mebibytes; ++i) {
      char* block = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (block == MAP_FAILED) _exit(9);
      memset(block, 1, 1 << 20);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    printf("signal %d\n", WTERMSIG(status));
  } else {
    printf("exit %d\n", WEXITSTATUS(status));
  }
}

static void fork_many(int most) {
  static pid_t children[4096];
  int made = 0;
  fflush(stdout);
  for (; made < most && made < 4096; ++made) {
    children[made] = fork();
    if (children[made] == 0) {
      pause();
      _exit(0);
    }
    if (children[made] < 0) break;
  }
  const int number = made < most ? errno : 0;
  for (int i = 0; i < made; ++i) kill(children[i], SIGKILL);
  for (int i = 0; i < made; ++i) waitpid(children[i], NULL, 0);
  printf("%d %s\n", made, number ? strerror(number) : "ok");
}

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Computes for so many milliseconds; says how many of them it had the processor.
static void burn(int milliseconds) {
  const double until = seconds(CLOCK_MONOTONIC) + milliseconds / 1e3;
  const double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
  while (seconds(CLOCK_MONOTONIC) < until) {
  }
  printf("%d\n", (int)((seconds(CLOCK_PROCESS_CPUTIME_ID) - before) * 1e3));
}

static void answer(char* line) {
  char* rest = strchr(line, ' ');
  if (rest != NULL) *rest++ = '\0';
  if (rest == NULL) rest = line + strlen(line);
  if (strcmp(line, "echo") == 0)
    printf("%s\n", rest);
  else if (strcmp(line, "cat") == 0)
    show_file(rest);
  else if (strcmp(line, "list") == 0)
    list_directory(rest);
  else if (strcmp(line, "stat") == 0)
    stat_path(rest);
  else if (strcmp(line, "write") == 0)
    write_path(rest);
  else if (strcmp(line, "fill") == 0)
    fill(rest);
  else if (strcmp(line, "net") == 0)
    list_network();
  else if (strcmp(line, "thread") == 0)
    start_thread();
  else if (strcmp(line, "eat") == 0)
    eat((size_t)atol(rest));
  else if (strcmp(line, "forks") == 0)
    fork_many(atoi(rest));
  else if (strcmp(line, "burn") == 0)
    burn(atoi(rest));
  else if (strcmp(line, "quit") == 0)
    _exit(0);
  else if (strcmp(line, "open") == 0) {
    const int fd = open(rest, O_RDONLY);
    if (fd < 0)
      say_error();
    else
      printf("ok\n");
    if (fd >= 0) close(fd);
  } else if (strcmp(line, "hold") == 0) {
    // Stays open.
    if (open(rest, O_RDONLY) < 0)
      say_error();
    else
      printf("ok\n");
  } else if (strcmp(line, "host") == 0) {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    printf("%s\n", name);
  } else if (strcmp(line, "call") == 0) {
    errno = 0;
    const long result = syscall(atol(rest), 0L, 0L, 0L, 0L, 0L, 0L);
    if (result < 0)
      say_error();
    else
      printf("ok\n");
  } else if (strcmp(line, "as") == 0) {
    // as UID COMMAND: the same, as a program would do it.
    char* command = strchr(rest, ' ');
    const unsigned int uid = (unsigned int)atol(rest);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(uid) != 0 || setuid(uid) != 0)
        say_error();
      else if (command != NULL)
        answer(command + 1);
      fflush(stdout);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  } else
    printf("unknown\n");
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "version") == 0) {
    printf("facts 1\n");
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "init") != 0) return 2;
  prctl(PR_SET_DUMPABLE, 0);  // as the agent does
  char line[4096];
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    answer(line);
    printf(".\n");
    fflush(stdout);
  }
  printf("end of input\n");
  return 3;
}
