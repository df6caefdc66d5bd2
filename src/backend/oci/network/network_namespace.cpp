#include "backend/oci/network/network_namespace.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

#include "core/unique_fd.hpp"

namespace cloche::oci {

namespace {

// The kernel keeps a namespace for each thread.
Status on_a_thread(const std::function<Status()>& work) {
  Status done;
  try {
    std::thread([&] {
      try {
        done = work();
      } catch (const std::exception& error) {
        done = fail(ErrorCode::internal, error.what());
      }
    }).join();
  } catch (const std::system_error& error) {
    return fail(ErrorCode::unavailable, std::string("start a thread: ") + error.what());
  }
  return done;
}

Status raise_loopback() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("create a socket");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return fail_errno("raise the loopback interface");
  return {};
}

// A request to the kernel's routing, attribute by attribute. `Body` follows the header: rtmsg or ifaddrmsg.
template <class Body>
class RouteRequest {
 public:
  RouteRequest(std::uint16_t type, const Body& body) {
    message_.body = body;
    auto& header = message_.header;
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    header.nlmsg_len = NLMSG_LENGTH(sizeof body);
  }

  template <class Value>
  void add(unsigned short type, const Value& value) {
    static_assert(sizeof value <= most_of_attribute);
    auto* attribute = reinterpret_cast<rtattr*>(reinterpret_cast<char*>(&message_) + message_.header.nlmsg_len);
    attribute->rta_type = type;
    attribute->rta_len = RTA_LENGTH(sizeof value);
    std::memcpy(RTA_DATA(attribute), &value, sizeof value);
    message_.header.nlmsg_len += RTA_SPACE(sizeof value);
  }

  // The number of the error, 0 for none.
  Result<int> send() const {
    const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!socket) return fail_errno("open netlink");
    if (::send(socket.get(), &message_, message_.header.nlmsg_len, 0) < 0) return fail_errno("send to netlink");
    struct {
      nlmsghdr header;
      nlmsgerr error;
      char rest[512];
    } answer{};
    const ssize_t n = ::recv(socket.get(), &answer, sizeof answer, 0);
    if (n < 0) return fail_errno("receive from netlink");
    if (static_cast<std::size_t>(n) < NLMSG_LENGTH(sizeof answer.error) || answer.header.nlmsg_type != NLMSG_ERROR)
      return fail(ErrorCode::internal, "unexpected answer of netlink");
    return -answer.error.error;
  }

 private:
  static constexpr std::size_t most_of_attribute = 16;
  struct {
    nlmsghdr header;
    Body body;
    char attributes[4 * RTA_SPACE(most_of_attribute)];
  } message_{};
};

template <class Address>
Result<int> add_local_default(std::uint8_t family, const Address& sender) {
  rtmsg route{};
  route.rtm_family = family;
  route.rtm_table = RT_TABLE_LOCAL;
  route.rtm_protocol = RTPROT_BOOT;
  route.rtm_scope = RT_SCOPE_HOST;
  route.rtm_type = RTN_LOCAL;
  RouteRequest<rtmsg> request(RTM_NEWROUTE, route);
  request.add(RTA_OIF, static_cast<std::uint32_t>(::if_nametoindex("lo")));
  request.add(RTA_PREFSRC, sender);
  return request.send();
}

Result<int> add_address(in_addr address) {
  ifaddrmsg about{};
  about.ifa_family = AF_INET;
  about.ifa_prefixlen = 32;
  about.ifa_scope = RT_SCOPE_UNIVERSE;
  about.ifa_index = ::if_nametoindex("lo");
  RouteRequest<ifaddrmsg> request(RTM_NEWADDR, about);
  request.add(IFA_LOCAL, address);
  return request.send();
}

}  // namespace

Status in_network_of(pid_t process, const std::function<Status()>& work) {
  const std::string path = "/proc/" + std::to_string(process) + "/ns/net";
  const UniqueFd network(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!network) return fail_errno("open " + path);
  return in_network(network.get(), work);
}

Status in_network(int network, const std::function<Status()>& work) {
  return on_a_thread([&]() -> Status {
    if (::setns(network, CLONE_NEWNET) != 0) return fail_errno("enter the sandbox's network");
    return work();
  });
}

Status in_new_network(const std::function<Status()>& work) {
  return on_a_thread([&]() -> Status {
    if (::unshare(CLONE_NEWNET) != 0) return fail_errno("create a network namespace");
    CLOCHE_CHECK(raise_loopback());
    return work();
  });
}

Status make_all_addresses_local() {
  in_addr v4{htonl(INADDR_LOOPBACK)};
  CLOCHE_TRY(const int error, add_local_default(AF_INET, v4));
  if (error != 0) return fail(errno_error("add a route", error));
  CLOCHE_TRY(const int v6_error, add_local_default(AF_INET6, in6addr_loopback));
  // A kernel without IPv6, or one that has it turned off.
  if (v6_error != 0 && v6_error != EAFNOSUPPORT && v6_error != EOPNOTSUPP && v6_error != EACCES && v6_error != EINVAL)
    return fail(errno_error("add an IPv6 route", v6_error));
  return {};
}

Status add_loopback_address(std::uint32_t address) {
  CLOCHE_TRY(const int error, add_address(in_addr{htonl(address)}));
  if (error != 0) return fail(errno_error("add an address", error));
  return {};
}

}  // namespace cloche::oci
