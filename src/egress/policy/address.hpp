// Addresses of the internet, and blocks of them. An IPv4 address that is written in IPv6 form is the IPv4 address.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::egress {

class Address {
 public:
  // Strict: four decimal numbers without leading zeros, or IPv6 without a zone. Nothing for `127.1`, `0x7f.1`,
  // `017.0.0.1`.
  static std::optional<Address> parse(std::string_view text);
  static Address v4(std::array<std::uint8_t, 4> bytes);
  // Mapped (`::ffff:0:0/96`), 6to4, NAT64 and compatible forms of an IPv4 address become that address.
  static Address v6(std::array<std::uint8_t, 16> bytes);

  bool is_v4() const { return is_v4_; }
  // IPv4: in the last four bytes, the others are 0.
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  std::string text() const;

  auto operator<=>(const Address&) const = default;

 private:
  bool is_v4_ = false;
  std::array<std::uint8_t, 16> bytes_{};
};

// An address and how many of its first bits count.
class AddressBlock {
 public:
  // `10.0.0.0/8`, `2001:db8::/32`, or a single address. invalid_argument if a bit after the prefix is set.
  static Result<AddressBlock> parse(std::string_view text);

  bool contains(const Address& address) const;
  // Whether every address of `other` is in this block.
  bool contains(const AddressBlock& other) const;
  std::string text() const;

  bool operator==(const AddressBlock&) const = default;

 private:
  Address address_;
  unsigned bits_ = 0;
};

// What an address is for, if it is not for a host of the public internet: `loopback`, `private`, `link-local` and so
// on. nullptr: public.
const char* reserved_use(const Address& address);
// Whether the whole block is in one reserved range: so a rule for it names these addresses, and no public one.
bool is_reserved(const AddressBlock& block);

}  // namespace cloche::egress
