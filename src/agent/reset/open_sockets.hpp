// Sockets of the sandbox's network that exist without a program: those that the kernel keeps for a while after their
// end, and those in flight without a sender or receiver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::agent {

// A line each; empty: the next program finds every port and every name free.
std::vector<std::string> list_open_sockets();

// Parses the text of a file in /proc/net; `kind` is its name.
std::vector<std::string> parse_sockets(std::string_view kind, std::string_view text);

// How many connections were ever opened, by the text of /proc/net/snmp.
std::uint64_t parse_connections(std::string_view text);

}  // namespace cloche::agent
