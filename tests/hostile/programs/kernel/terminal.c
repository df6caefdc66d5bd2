// tries: to put words into somebody's mouth by the terminal: TIOCSTI, TIOCLINUX, TIOCCONS; to steal it; /dev/console
// must: be refused; its terminal is its own, and nobody reads commands from it
#include "../attack.h"

#include <sys/ioctl.h>

int main(void) {
  const int terminal = isatty(0) ? 0 : open("/dev/tty", O_RDWR | O_CLOEXEC);
  if (isatty(0)) held("has a terminal");
  char mode = 3;
  must_fail("TIOCLINUX", ioctl(terminal, TIOCLINUX, &mode));
  // Only of the host's console; 0 belongs to no terminal.
  const int console = open("/dev/console", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  struct stat own, other;
  if (console >= 0 && fstat(0, &own) == 0 && fstat(console, &other) == 0 && own.st_rdev != other.st_rdev)
    hole("/dev/console opens");
  else
    held("/dev/console: %s", console < 0 ? strerror(errno) : "its own terminal");
  static const char* const others[] = {"/dev/tty0", "/dev/tty1", "/dev/ttyS0", "/dev/hvc0", "/dev/pts/5", "/dev/pts/6"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    must_fail(others[i], open(others[i], O_RDWR | O_NOCTTY | O_NONBLOCK));
  must_fail("TIOCCONS", ioctl(terminal, TIOCCONS, 0) == 0 ? 0 : -1);
  return done();
}
