// tries: a socket of every family and kind there is
// must: get none of those that reach a device, another machine or the host: packet, raw, vsock, bluetooth, can, xdp,
// ...
#include "../attack.h"

#include <sys/socket.h>

int main(void) {
  static const int kinds[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, 10 /* SOCK_PACKET */};
  for (int family = 0; family < 64; ++family) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
      const int kind = kinds[k];
      const int protocol = kind == SOCK_RAW && (family == AF_INET || family == AF_INET6) ? 1 : 0;
      const int fd = socket(family, kind | SOCK_CLOEXEC, protocol);
      if (fd < 0) continue;
      close(fd);
      const int plain = family == AF_UNIX ||
                        ((family == AF_INET || family == AF_INET6) && (kind == SOCK_STREAM || kind == SOCK_DGRAM)) ||
                        family == AF_NETLINK;  // netlink.c says what it may be used for
      // The kernel's own ciphers: no way out, but a surface; what is decided of it is in the test.
      if (plain)
        held("family %d kind %d is harmless", family, kind);
      else
        hole("family %d kind %d", family, kind);
    }
  }
  static const int raw[] = {1, 6, 17, 41, 47, 58, 89, 255};
  for (size_t i = 0; i < sizeof raw / sizeof *raw; ++i) {
    char what[60];
    snprintf(what, sizeof what, "raw IPv4 protocol %d", raw[i]);
    must_fail(what, socket(AF_INET, SOCK_RAW, raw[i]));
    snprintf(what, sizeof what, "raw IPv6 protocol %d", raw[i]);
    must_fail(what, socket(AF_INET6, SOCK_RAW, raw[i]));
  }
  must_fail("packet", socket(AF_PACKET, SOCK_RAW, 0x0300));
  must_fail("packet, datagrams", socket(AF_PACKET, SOCK_DGRAM, 0x0300));
  return done();
}
