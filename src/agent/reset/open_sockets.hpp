// Sockets of the sandbox's network that exist without a program: those that the kernel keeps for a while after their
// end, and those in flight without a sender or receiver.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::agent {

// A line each; empty: the next program finds every port and every name free. Connections that have ended, and that the
// kernel would keep for a minute in case a packet is late, are ended for good: on a loopback none is. `spared`: the
// name of an abstract socket that is the relay's, and of its connections; no program can have it.
std::vector<std::string> list_open_sockets(std::string_view spared = {});

// Parses the text of a file in /proc/net; `kind` is its name.
std::vector<std::string> parse_sockets(std::string_view kind, std::string_view text, std::string_view spared = {});

// Both ends of a connection, as they are seen by the end that the kernel keeps.
struct KeptConnection {
  sockaddr_storage local;
  sockaddr_storage remote;
};
// Those that have ended (TIME_WAIT) in the text of /proc/net/tcp or tcp6.
std::vector<KeptConnection> parse_kept_connections(std::string_view text);

// How many connections were ever opened, by the text of /proc/net/snmp.
std::uint64_t parse_connections(std::string_view text);

}  // namespace cloche::agent
