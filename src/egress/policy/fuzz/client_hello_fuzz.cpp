// Any bytes as the start of a TLS connection: no crash, a name only from a complete hello, and more bytes never change
// a complete answer.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "egress/policy/client_hello.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using cloche::egress::ClientHello;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ClientHello whole = cloche::egress::read_client_hello(bytes);
  if (whole.state != ClientHello::State::complete && !whole.server_name.empty()) std::abort();
  const ClientHello half = cloche::egress::read_client_hello(bytes.substr(0, size / 2));
  if (half.state == ClientHello::State::complete &&
      (whole.state != half.state || whole.server_name != half.server_name)) {
    std::abort();
  }
  return 0;
}
