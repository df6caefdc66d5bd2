// Process 1 of a weak place: what a sandbox would be without its walls. It shares its user with the programs, leaves
// descriptors open, lives in their network with the canaries, and ends no more than the process it started.
//
// Usage: init [-u UID] PROGRAM ARGUMENT... [-- PROGRAM ARGUMENT...]...: one after the other, with nothing cleaned
// between
//
// All of it is in namespaces of its own (processes, network, mounts, ipc, host name), so that whatever a program does
// with root's rights it does to this place.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <net/route.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void bring_up(const char* name, const char* address) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {0};
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
  struct sockaddr_in* in = (struct sockaddr_in*)&request.ifr_addr;
  in->sin_family = AF_INET;
  inet_pton(AF_INET, address, &in->sin_addr);
  ioctl(fd, SIOCSIFADDR, &request);
  ioctl(fd, SIOCGIFFLAGS, &request);
  request.ifr_flags |= IFF_UP;
  ioctl(fd, SIOCSIFFLAGS, &request);
  close(fd);
}

static void bring_up_v6(const char* address) {
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct in6_ifreq request = {.ifr6_prefixlen = 128, .ifr6_ifindex = 1};
  inet_pton(AF_INET6, address, &request.ifr6_addr);
  ioctl(fd, SIOCSIFADDR, &request);
  close(fd);
}

// Everything has a way; it ends at the loopback of this place.
static void route_everything_to_loopback(void) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct rtentry route = {.rt_flags = RTF_UP, .rt_dev = (char*)"lo"};
  route.rt_dst.sa_family = route.rt_genmask.sa_family = AF_INET;
  ioctl(fd, SIOCADDRT, &route);
  close(fd);
}

static int number_of(const char* name) {
  const char* text = getenv(name);
  return text != NULL ? atoi(text) : 0;
}

static void listen_on(int port) {
  const int fd = socket(AF_INET6, SOCK_STREAM, 0);
  struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons((unsigned short)port)};
  if (port == 0 || bind(fd, (struct sockaddr*)&any, sizeof any) != 0 || listen(fd, 64) != 0) close(fd);
}

static void listen_at(const char* name) {
  if (name == NULL) return;
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
  if (bind(fd, (struct sockaddr*)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) !=
          0 ||
      listen(fd, 64) != 0) {
    close(fd);
  }
}

// Canaries: a process of another user, who listens where the host and a neighbour would, and answers names.
static void start_canaries(void) {
  int ready[2];
  if (pipe(ready) != 0) exit(90);
  if (fork() == 0) {
    close(ready[0]);
    listen_on(number_of("CANARY_PORT"));
    listen_on(number_of("NEIGHBOUR_PORT"));
    listen_at(getenv("CANARY_ABSTRACT"));
    listen_at(getenv("NEIGHBOUR_ABSTRACT"));
    const int names = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in domain = {.sin_family = AF_INET, .sin_port = htons(53)};
    bind(names, (struct sockaddr*)&domain, sizeof domain);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    close(ready[1]);
    for (;;) {
      char bytes[512];
      struct sockaddr_storage from;
      socklen_t length = sizeof from;
      const ssize_t n = recvfrom(names, bytes, sizeof bytes, 0, (struct sockaddr*)&from, &length);
      if (n > 0) sendto(names, bytes, (size_t)n, 0, (struct sockaddr*)&from, length);
      if (n < 0 && errno != EINTR) pause();
    }
  }
  char byte;
  close(ready[1]);
  if (read(ready[0], &byte, 1) != 1) exit(91);
  close(ready[0]);
}

static void run(char** argv, int uid) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (uid != 0 && (setgid((gid_t)uid) != 0 || setuid((uid_t)uid) != 0)) _exit(92);
    execvp(argv[0], argv);
    perror(argv[0]);
    _exit(127);
  }
  int status = 0;
  for (;;) {
    // Orphans are reaped on the way: as zombies they would use up the pids of this place.
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended == child || (ended < 0 && errno != EINTR)) break;
  }
  dprintf(2, "weak: %s ended with status %x\n", argv[0], (unsigned)status);
}

int main(int argc, char** argv) {
  bring_up("lo", "127.0.0.1");
  bring_up("lo:1", "169.254.169.254");
  bring_up_v6("fd00:ec2::254");
  route_everything_to_loopback();
  // Left open for the started program: a directory of the host, as a runtime once did.
  const char* canary = getenv("CANARY_PATH");
  if (canary != NULL) {
    const int leaked = open("/host", O_RDONLY | O_DIRECTORY);
    if (leaked >= 0) dup2(leaked, 9);
    if (leaked >= 0) close(leaked);
  }
  start_canaries();
  // Terminals of others.
  for (int i = 0; i < 8; ++i) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0) unlockpt(terminal);
  }
  int uid = 0;
  int first = 1;
  if (argc > 2 && strcmp(argv[1], "-u") == 0) {
    uid = atoi(argv[2]);
    first = 3;
  }
  for (int i = first; i <= argc; ++i) {
    if (i < argc && strcmp(argv[i], "--") != 0) continue;
    argv[i] = NULL;
    if (argv[first] != NULL) run(argv + first, uid);
    first = i + 1;
  }
  return 0;
}
