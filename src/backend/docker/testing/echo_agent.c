/* Replaces the agent in tests of the Docker backend: echoes its input line by line, and handles a few commands.
 *
 *   !raw          from now on echo bytes as they come
 *   !err TEXT     write TEXT to stderr
 *   !sh COMMAND   run COMMAND by /bin/sh as user 1000 and print what it prints, then a line "= STATUS"
 *   !eat MIB      use so much memory in a child, then print "= STATUS"
 *   !gorge MIB    use so much memory in this process
 *   !exit CODE    end
 */
#define _GNU_SOURCE
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_all(const char* bytes, size_t count) {
  while (count > 0) {
    ssize_t n = write(STDOUT_FILENO, bytes, count);
    if (n <= 0) _exit(90);
    bytes += n;
    count -= (size_t)n;
  }
}

static void echo_bytes(void) {
  static char buffer[1 << 16];
  ssize_t n;
  while ((n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0) write_all(buffer, (size_t)n);
}

static void eat(long mib) {
  for (long i = 0; i < mib; ++i) {
    char* piece = malloc(1 << 20);
    if (!piece) _exit(91);
    memset(piece, (int)i + 1, 1 << 20);
  }
}

static void report(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  printf("= %d\n", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void run_shell(const char* command) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    dup2(STDOUT_FILENO, STDERR_FILENO);
    if (setgroups(0, NULL) != 0 || setgid(1000) != 0 || setuid(1000) != 0) _exit(92);
    execl("/bin/sh", "sh", "-c", command, (char*)NULL);
    _exit(127);
  }
  report(child);
}

static void eat_in_child(long mib) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    eat(mib);
    _exit(0);
  }
  report(child);
}

int main(int argc, char** argv) {
  if (argc != 2 || strcmp(argv[1], "init") != 0) return 93;
  setvbuf(stdin, NULL, _IONBF, 0);
  static char line[1 << 16];
  while (fgets(line, sizeof line, stdin)) {
    char* end = strchr(line, '\n');
    if (end && line[0] == '!') *end = 0;
    if (!strcmp(line, "!raw"))
      echo_bytes();
    else if (!strncmp(line, "!err ", 5))
      fprintf(stderr, "%s\n", line + 5);
    else if (!strncmp(line, "!sh ", 4))
      run_shell(line + 4);
    else if (!strncmp(line, "!eat ", 5))
      eat_in_child(atol(line + 5));
    else if (!strncmp(line, "!gorge ", 7))
      eat(atol(line + 7));
    else if (!strncmp(line, "!exit ", 6))
      return atoi(line + 6);
    else
      fputs(line, stdout);
    fflush(stdout);
  }
  return 0;
}
