// SOCKS5 (RFC 1928) as far as the broker offers it: CONNECT without authentication. No I/O; the bytes come from a
// sandbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::egress {

enum class SocksState {
  incomplete,  // more bytes are needed
  invalid,     // not SOCKS5
  complete,
};

inline constexpr char socks_version = 5;

struct SocksGreeting {
  SocksState state = SocksState::incomplete;
  std::size_t size = 0;           // in bytes, when complete
  bool without_password = false;  // is among the methods that the client offers
};
SocksGreeting read_socks_greeting(std::string_view bytes);

struct SocksRequest {
  SocksState state = SocksState::incomplete;
  std::size_t size = 0;
  std::uint8_t command = 0;  // 1: CONNECT
  std::string host;          // a name as it came, or an address as text; empty: an unknown kind of address
  std::uint16_t port = 0;
};
SocksRequest read_socks_request(std::string_view bytes);

// The reply to a greeting: no authentication, or that none of the methods is accepted.
std::string_view socks_method_reply(bool without_password);
// 0: connected; 2: not allowed; 4: host unreachable; 7: unknown command; 8: unknown kind of address.
std::string socks_reply(std::uint8_t code);

}  // namespace cloche::egress
