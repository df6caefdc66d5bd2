#include "egress/broker/socks.hpp"

#include <algorithm>
#include <array>

#include "egress/policy/address.hpp"

namespace cloche::egress {

namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t index) { return static_cast<std::uint8_t>(bytes[index]); }

template <std::size_t N>
std::array<std::uint8_t, N> bytes_at(std::string_view bytes, std::size_t index) {
  std::array<std::uint8_t, N> copied;
  std::ranges::transform(bytes.substr(index, N), copied.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  return copied;
}

constexpr std::uint8_t kind_v4 = 1;
constexpr std::uint8_t kind_name = 3;
constexpr std::uint8_t kind_v6 = 4;

}  // namespace

SocksGreeting read_socks_greeting(std::string_view bytes) {
  SocksGreeting greeting;
  if (!bytes.empty() && bytes[0] != socks_version) greeting.state = SocksState::invalid;
  if (greeting.state == SocksState::invalid || bytes.size() < 2) return greeting;
  const std::size_t count = byte_at(bytes, 1);
  if (bytes.size() < 2 + count) return greeting;
  greeting.state = SocksState::complete;
  greeting.size = 2 + count;
  greeting.without_password = bytes.substr(2, count).find('\0') != std::string_view::npos;
  return greeting;
}

SocksRequest read_socks_request(std::string_view bytes) {
  SocksRequest request;
  // Version, command, reserved, kind of address.
  if ((!bytes.empty() && bytes[0] != socks_version) || (bytes.size() > 2 && bytes[2] != 0)) {
    request.state = SocksState::invalid;
    return request;
  }
  constexpr std::size_t head = 4;
  if (bytes.size() < head + 1) return request;
  request.command = byte_at(bytes, 1);
  const std::uint8_t kind = byte_at(bytes, 3);
  std::size_t address = 0;  // its size, with the length of a name before it
  if (kind == kind_v4) address = 4;
  if (kind == kind_v6) address = 16;
  if (kind == kind_name) address = 1 + std::size_t{byte_at(bytes, head)};
  if (address == 0) {
    request.state = SocksState::complete;
    request.size = bytes.size();
    return request;
  }
  if (bytes.size() < head + address + 2) return request;
  request.state = SocksState::complete;
  request.size = head + address + 2;
  if (kind == kind_v4) request.host = Address::v4(bytes_at<4>(bytes, head)).text();
  if (kind == kind_v6) request.host = Address::v6(bytes_at<16>(bytes, head)).text();
  if (kind == kind_name) request.host = bytes.substr(head + 1, address - 1);
  const std::size_t port = head + address;
  request.port = static_cast<std::uint16_t>(byte_at(bytes, port) << 8 | byte_at(bytes, port + 1));
  return request;
}

std::string_view socks_method_reply(bool without_password) {
  using namespace std::string_view_literals;
  return without_password ? "\x05\x00"sv : "\x05\xff"sv;
}

std::string socks_reply(std::uint8_t code) {
  // The address that the proxy uses is not told: 0.0.0.0:0.
  std::string reply(10, '\0');
  reply[0] = socks_version;
  reply[1] = static_cast<char>(code);
  reply[3] = static_cast<char>(kind_v4);
  return reply;
}

}  // namespace cloche::egress
