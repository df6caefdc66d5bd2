// The server name in the first bytes of a TLS connection. No I/O; the bytes come from a sandbox.
#pragma once

#include <string>
#include <string_view>

namespace cloche::egress {

struct ClientHello {
  enum class State {
    incomplete,  // more bytes are needed
    not_tls,     // another protocol
    invalid,     // TLS, but not a client hello that can be read
    complete,
  };
  State state = State::incomplete;
  std::string server_name;  // as it came; empty: none was sent
};

// A client hello may come in several records, of at most 16 KiB each; 64 KiB are enough for all of them.
ClientHello read_client_hello(std::string_view bytes);
inline constexpr std::size_t longest_client_hello = std::size_t{64} * 1024;

}  // namespace cloche::egress
