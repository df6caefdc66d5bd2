// What every attack program in C shares: it says of each thing that it tried whether the wall held.
//
// One line a thing: `HELD what` or `HOLE what`; `DONE` when the program came to its end by itself. Lines are written at
// once, so that neither a fork nor a kill doubles or loses them.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// An address that no kernel takes for a buffer.
#define BAD_POINTER ((void*)1)

__attribute__((unused)) static void say(const char* verdict, const char* format, va_list rest) {
  char line[1024];
  int n = snprintf(line, sizeof line, "%s ", verdict);
  n += vsnprintf(line + n, sizeof line - 1 - (size_t)n, format, rest);
  if (n > (int)sizeof line - 2) n = sizeof line - 2;
  line[n] = '\n';
  if (write(1, line, (size_t)n + 1) < 0) _exit(99);
}

__attribute__((unused, format(printf, 1, 2))) static void held(const char* format, ...) {
  va_list rest;
  va_start(rest, format);
  say("HELD", format, rest);
  va_end(rest);
}

__attribute__((unused, format(printf, 1, 2))) static void hole(const char* format, ...) {
  va_list rest;
  va_start(rest, format);
  say("HOLE", format, rest);
  va_end(rest);
}

// A call that must fail: its answer, by errno's convention.
__attribute__((unused)) static int must_fail(const char* what, long answer) {
  const int error = errno;
  if (answer < 0) {
    held("%s: %s", what, strerror(error));
  } else {
    hole("%s", what);
  }
  return answer >= 0;
}

__attribute__((unused)) static int done(void) { return write(1, "DONE\n", 5) == 5 ? 0 : 99; }

// What the test prepared and says in the environment; empty when it did not.
__attribute__((unused)) static const char* told(const char* name) {
  const char* value = getenv(name);
  return value != NULL ? value : "";
}

__attribute__((unused)) static void nap(long milliseconds) {
  const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}

__attribute__((unused)) static int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// The process that started this one and is no other program's: in a sandbox the supervisor, of another user.
__attribute__((unused)) static pid_t overseer(void) { return getppid(); }

// These programs are for a sandbox, or for a weak place that a test made for them; anywhere else they end at once.
__attribute__((constructor, unused)) static void only_inside(void) {
  if (getenv("CLOCHE_HOSTILE") != NULL && access("/attack/attack.py", F_OK) == 0) return;
  fputs("not run outside of a sandbox\n", stderr);
  _exit(98);
}
