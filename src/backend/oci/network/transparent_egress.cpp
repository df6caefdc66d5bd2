#include "backend/oci/network/transparent_egress.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "backend/oci/files.hpp"
#include "backend/oci/network/network_namespace.hpp"
#include "backend/oci/runtime/command.hpp"
#include "core/unique_fd.hpp"
#include "process/programs.hpp"
#include "wire/egress_messages.hpp"

namespace cloche::oci {

namespace {

using namespace std::chrono_literals;

constexpr auto longest_set_up = 10s;

// 198.19.255.255, the last of the range for names, and never used for one. Some programs ask for IPv4 addresses
// of names only if the host has such an address besides 127.0.0.1 (AI_ADDRCONFIG).
constexpr std::uint32_t own_address = 0xC613'FFFF;

// The kernel's records of connections are in its own memory, which no limit of the sandbox counts: they are bounded
// here. What stays on the loopback needs none.
std::string rules() {
  const std::string redirected = std::to_string(wire::transparent_port);
  const std::string names = std::to_string(wire::name_server_port);
  return "table inet cloche {\n"
         "  chain untracked {\n"
         "    type filter hook output priority -300; policy accept;\n"
         "    meta l4proto { icmp, ipv6-icmp } return\n"
         "    udp dport 53 return\n"
         "    udp sport " +
         names +
         " return\n"
         "    tcp sport " +
         redirected +
         " return\n"
         "    meta l4proto tcp ip daddr != 127.0.0.0/8 return\n"
         "    meta l4proto tcp ip6 daddr != ::1 return\n"
         "    notrack\n"
         "  }\n"
         "  chain bounded {\n"
         "    type filter hook output priority -150; policy accept;\n"
         "    ct state new ct count over 4096 reject\n"
         "  }\n"
         "  chain redirected {\n"
         "    type nat hook output priority -100; policy accept;\n"
         "    udp dport 53 redirect to :" +
         names +
         "\n"
         "    ip daddr 127.0.0.0/8 return\n"
         "    ip6 daddr ::1 return\n"
         "    meta l4proto tcp redirect to :" +
         redirected +
         "\n"
         "  }\n"
         "  chain nothing_else {\n"
         "    type filter hook output priority 0; policy accept;\n"
         "    ip daddr != 127.0.0.0/8 reject\n"
         "    ip6 daddr != ::1 reject\n"
         "  }\n"
         "}\n";
}

struct NetworkSetting {
  const char* file;
  const char* value;
};

// On a loopback no packet is late, so that closed connections need not be remembered: neither by TCP, which would make
// a reset of the sandbox fail, nor by the redirection. Half-closed ones may be idle for a while.
constexpr NetworkSetting network_settings[] = {
    {"/proc/sys/net/ipv4/tcp_max_tw_buckets", "0"},
    {"/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_time_wait", "1"},
    {"/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close", "1"},
    {"/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_syn_sent", "30"},
    {"/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_fin_wait", "3600"},
    {"/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait", "3600"},
    {"/proc/sys/net/netfilter/nf_conntrack_udp_timeout", "3"},
    {"/proc/sys/net/netfilter/nf_conntrack_udp_timeout_stream", "3"},
};

// In the network of the calling thread.
Status set_up(Deadline deadline) {
  const auto nft = process::find_program("nft");
  if (!nft) return fail(ErrorCode::unsupported, "the program nft is not installed");
  CLOCHE_CHECK(make_all_addresses_local());
  CLOCHE_CHECK(add_loopback_address(own_address));
  Command command;
  command.program = *nft;
  command.arguments = {rules()};
  CLOCHE_TRY(const CommandEnd end, run_command(command, deadline));
  if (end.exit_code != 0) {
    return fail(ErrorCode::unsupported, "nft cannot set the rules: " + end.output.substr(0, end.output.find('\n')));
  }
  // Those of the redirection exist once the rules do.
  for (const auto& [file, value] : network_settings) CLOCHE_CHECK(write_control(file, value));
  return {};
}

sockaddr_in address(const char* host, std::uint16_t port) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &made.sin_addr);
  return made;
}

Result<UniqueFd> bound_socket(int type, std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const sockaddr_in at = address("127.0.0.1", port);
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    return fail_errno("bind a socket");
  return socket;
}

Status await_readable(int fd, const char* what) {
  pollfd ready{fd, POLLIN, 0};
  if (::poll(&ready, 1, 2000) == 1) return {};
  return fail(ErrorCode::unsupported, std::string(what) + " does not arrive");
}

Result<UniqueFd> start_connection(int type, const sockaddr_in& to) {
  UniqueFd socket(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("create a socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
    return fail_errno("connect");
  return socket;
}

Status try_connection() {
  constexpr int so_original_dst = 80;
  CLOCHE_TRY(const UniqueFd listener, bound_socket(SOCK_STREAM, wire::transparent_port));
  if (::listen(listener.get(), 1) != 0) return fail_errno("listen");
  const sockaddr_in meant = address("198.18.0.1", 443);
  CLOCHE_TRY(const UniqueFd client, start_connection(SOCK_STREAM, meant));
  CLOCHE_CHECK(await_readable(listener.get(), "a redirected connection"));
  const UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted) return fail_errno("accept");
  sockaddr_in said{};
  socklen_t size = sizeof said;
  if (::getsockopt(accepted.get(), IPPROTO_IP, so_original_dst, &said, &size) != 0)
    return fail_errno("read what a connection meant");
  if (said.sin_addr.s_addr != meant.sin_addr.s_addr || said.sin_port != meant.sin_port)
    return fail(ErrorCode::unsupported, "the kernel reports another destination than the one that was meant");
  return {};
}

Status try_question() {
  CLOCHE_TRY(const UniqueFd server, bound_socket(SOCK_DGRAM, wire::name_server_port));
  CLOCHE_TRY(const UniqueFd client, start_connection(SOCK_DGRAM, address("127.0.0.1", 53)));
  if (::send(client.get(), "?", 1, 0) != 1) return fail_errno("send a question");
  CLOCHE_CHECK(await_readable(server.get(), "a question for a name"));
  sockaddr_in from{};
  socklen_t size = sizeof from;
  char byte = 0;
  if (::recvfrom(server.get(), &byte, 1, 0, reinterpret_cast<sockaddr*>(&from), &size) != 1 ||
      ::sendto(server.get(), &byte, 1, 0, reinterpret_cast<sockaddr*>(&from), size) != 1)
    return fail_errno("answer a question");
  return await_readable(client.get(), "the answer to a question for a name");
}

}  // namespace

Status TransparentEgress::probe() {
  const std::lock_guard lock(mutex_);
  if (!probed_) {
    probed_ = in_new_network([]() -> Status {
      CLOCHE_CHECK(set_up(Deadline::after(longest_set_up)));
      CLOCHE_CHECK(try_connection());
      return try_question();
    });
  }
  return *probed_;
}

Status TransparentEgress::prepare(pid_t first, Deadline deadline) const {
  Status prepared = in_network_of(first, [&] { return set_up(deadline); });
  if (!prepared) return fail(std::move(prepared).error().at("redirect connections"));
  return {};
}

}  // namespace cloche::oci
