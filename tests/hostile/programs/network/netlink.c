// tries: to change its network by netlink and ioctl: a device, an address, a route, a link up, a tunnel, filter rules
// must: be refused each change
#include "../attack.h"

#include <arpa/inet.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/route.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static void ask(const char* what, int kind, int flags, void* body, size_t length) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) {
    held("%s: no netlink: %s", what, strerror(errno));
    return;
  }
  struct {
    struct nlmsghdr head;
    char body[128];
  } request = {0};
  request.head.nlmsg_len = (unsigned)(NLMSG_HDRLEN + length);
  request.head.nlmsg_type = (unsigned short)kind;
  request.head.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | NLM_F_ACK | flags);
  memcpy(request.body, body, length);
  char answer[1024] = "";
  struct timeval patience = {2, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (send(fd, &request, request.head.nlmsg_len, 0) < 0 ||
      recv(fd, answer, sizeof answer, 0) < (ssize_t)sizeof(struct nlmsghdr)) {
    held("%s: %s", what, strerror(errno));
  } else {
    const struct nlmsgerr* error = NLMSG_DATA((struct nlmsghdr*)answer);
    errno = -error->error;
    // EPERM and its like; anything else came after the check.
    if (error->error == -EPERM || error->error == -EACCES || error->error == -EOPNOTSUPP)
      held("%s: %s", what, strerror(errno));
    else
      hole("%s: %s", what, error->error == 0 ? "done" : strerror(errno));
  }
  close(fd);
}

int main(void) {
  struct {
    struct ifinfomsg info;
    struct rtattr name;
    char text[16];
  } link = {{.ifi_family = AF_UNSPEC}, {.rta_len = 12, .rta_type = IFLA_IFNAME}, "planted"};
  ask("a new device", RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof link);
  struct ifinfomsg up = {.ifi_family = AF_UNSPEC, .ifi_index = 1, .ifi_flags = 0, .ifi_change = IFF_UP};
  ask("loopback down", RTM_SETLINK, 0, &up, sizeof up);
  struct {
    struct ifaddrmsg head;
    struct rtattr local;
    unsigned char bytes[4];
  } address = {{.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1},
               {.rta_len = 8, .rta_type = IFA_LOCAL},
               {192, 0, 2, 1}};
  ask("a new address", RTM_NEWADDR, NLM_F_CREATE, &address, sizeof address);
  struct {
    struct rtmsg head;
    struct rtattr out;
    int index;
  } route = {{.rtm_family = AF_INET,
              .rtm_table = RT_TABLE_MAIN,
              .rtm_protocol = RTPROT_BOOT,
              .rtm_scope = RT_SCOPE_LINK,
              .rtm_type = RTN_UNICAST},
             {.rta_len = 8, .rta_type = RTA_OIF},
             1};
  ask("a default route", RTM_NEWROUTE, NLM_F_CREATE, &route, sizeof route);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {.ifr_name = "lo"};
  request.ifr_mtu = 1400;
  must_fail("another mtu", ioctl(fd, SIOCSIFMTU, &request));
  struct rtentry entry = {.rt_flags = RTF_UP, .rt_dev = (char*)"lo"};
  entry.rt_dst.sa_family = entry.rt_genmask.sa_family = AF_INET;
  must_fail("a route by ioctl", ioctl(fd, SIOCADDRT, &entry));
  const int one = 1;
  must_fail("SO_MARK", setsockopt(fd, SOL_SOCKET, SO_MARK, &one, sizeof one));
  must_fail("SO_RCVBUFFORCE", setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &one, sizeof one));
  must_fail("IP_TRANSPARENT", setsockopt(fd, 0, 19, &one, sizeof one));
  must_fail("SO_DEBUG", setsockopt(fd, SOL_SOCKET, SO_DEBUG, &one, sizeof one));
  char table[84] = "filter";
  socklen_t length = sizeof table;
  const int raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 255);
  must_fail("filter rules", raw < 0 ? -1 : getsockopt(raw, 0, 64, table, &length));
  const int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  must_fail("a tunnel", tun);
  return done();
}
