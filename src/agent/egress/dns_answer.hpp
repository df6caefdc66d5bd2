// Answers to questions of the domain name system (RFC 1035). No I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cloche::agent {

// The longest message over UDP that is looked at. Questions are shorter than 300 bytes.
constexpr std::size_t most_dns_bytes = 1232;

// Given a name in lower case, without the dot at its end: letters, digits, '-', '_' and dots.
using AddressOf = std::function<std::uint32_t(std::string_view name)>;

// The response to one message; empty for a message that is no question or cannot be answered.
//
// Every name that could be a host's has an IPv4 address and no other record: whether there is such a host is found out
// when a program connects. Names of addresses (`.arpa`), of this host (`localhost`) and impossible ones do not exist.
std::string answer_dns(std::string_view message, const AddressOf& address_of);

}  // namespace cloche::agent
