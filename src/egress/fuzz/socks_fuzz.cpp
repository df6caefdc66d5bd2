// Any bytes as a SOCKS5 greeting and request: no crash, no more used than there is, and once a message is complete,
// more bytes do not change it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "egress/broker/socks.hpp"
#include "egress/policy/policy.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche::egress;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto greeting = read_socks_greeting(all);
  if (greeting.state != SocksState::complete) return 0;
  require(greeting.size <= size);
  const auto again = read_socks_greeting(all.substr(0, greeting.size));
  require(again.state == SocksState::complete && again.without_password == greeting.without_password);
  const std::string_view rest = all.substr(greeting.size);
  const auto request = read_socks_request(rest);
  if (request.state != SocksState::complete) return 0;
  require(request.size <= rest.size());
  if (request.host.empty()) return 0;
  const auto alone = read_socks_request(rest.substr(0, request.size));
  require(alone.state == SocksState::complete && alone.host == request.host && alone.port == request.port);
  (void)parse_destination(request.host, request.port);
  return 0;
}
