#include "egress/policy/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <vector>

namespace cloche::egress {

namespace {

constexpr std::size_t v4_at = 12;

struct ReservedRange {
  const char* block;
  const char* use;
};

// IANA's special-purpose registries, multicast, and what clouds use for metadata (which is link-local, or in these).
constexpr ReservedRange reserved_ranges[] = {
    {"0.0.0.0/8", "this network"},
    {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "shared by a carrier"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local"},
    {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "protocol assignments"},
    {"192.0.2.0/24", "documentation"},
    {"192.88.99.0/24", "6to4 relay"},
    {"192.168.0.0/16", "private"},
    {"198.18.0.0/15", "benchmarks"},
    {"198.51.100.0/24", "documentation"},
    {"203.0.113.0/24", "documentation"},
    {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved"},
    {"::/96", "unspecified, loopback and IPv4-compatible"},
    {"64:ff9b:1::/48", "local NAT64"},
    {"100::/64", "discard"},
    {"2001::/23", "protocol assignments"},
    {"2001:db8::/32", "documentation"},
    {"3fff::/20", "documentation"},
    {"5f00::/16", "segment routing"},
    {"fc00::/7", "private"},
    {"fe80::/10", "link-local"},
    {"fec0::/10", "site-local"},
    {"ff00::/8", "multicast"},
};

struct Reserved {
  AddressBlock block;
  const char* use;
};

const std::vector<Reserved>& reserved() {
  static const std::vector<Reserved> parsed = [] {
    std::vector<Reserved> all;
    for (const ReservedRange& each : reserved_ranges)
      all.push_back({AddressBlock::parse(each.block).value(), each.use});
    return all;
  }();
  return parsed;
}

bool begins_with(const std::array<std::uint8_t, 16>& bytes, std::initializer_list<std::uint8_t> prefix) {
  return std::ranges::equal(prefix, std::span(bytes).first(prefix.size()));
}

// inet_pton takes neither leading zeros nor short forms, but it needs a terminated text.
bool to_bytes(int family, std::string_view text, void* bytes) {
  char terminated[64];
  if (text.empty() || text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) return false;
  std::memcpy(terminated, text.data(), text.size());
  terminated[text.size()] = '\0';
  return ::inet_pton(family, terminated, bytes) == 1;
}

bool has_bits_after(const Address& address, unsigned bits) {
  const std::size_t first = address.is_v4() ? v4_at : 0;
  for (std::size_t bit = bits; bit < 8 * (16 - first); ++bit) {
    if ((address.bytes()[first + bit / 8] >> (7 - bit % 8) & 1) != 0) return true;
  }
  return false;
}

}  // namespace

Address Address::v4(std::array<std::uint8_t, 4> bytes) {
  Address address;
  address.is_v4_ = true;
  std::ranges::copy(bytes, address.bytes_.begin() + v4_at);
  return address;
}

Address Address::v6(std::array<std::uint8_t, 16> bytes) {
  const auto inner = [&](std::size_t at) { return v4({bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]}); };
  if (begins_with(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})) return inner(v4_at);
  if (begins_with(bytes, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return inner(v4_at);
  if (begins_with(bytes, {0x20, 0x02})) return inner(2);
  Address address;
  address.bytes_ = bytes;
  return address;
}

std::optional<Address> Address::parse(std::string_view text) {
  std::array<std::uint8_t, 4> four{};
  if (to_bytes(AF_INET, text, four.data())) return v4(four);
  std::array<std::uint8_t, 16> sixteen{};
  if (to_bytes(AF_INET6, text, sixteen.data())) return v6(sixteen);
  return std::nullopt;
}

std::string Address::text() const {
  char text[INET6_ADDRSTRLEN];
  ::inet_ntop(is_v4_ ? AF_INET : AF_INET6, bytes_.data() + (is_v4_ ? v4_at : 0), text, sizeof text);
  return text;
}

Result<AddressBlock> AddressBlock::parse(std::string_view text) {
  const auto invalid = [&](std::string_view why) {
    return fail(ErrorCode::invalid_argument, "invalid address block `" + std::string(text) + "`: " + std::string(why));
  };
  const std::size_t slash = text.find('/');
  const auto address = Address::parse(text.substr(0, slash));
  if (!address) return invalid("it is not an IPv4 or IPv6 address");
  AddressBlock block;
  block.address_ = *address;
  const unsigned most = address->is_v4() ? 32 : 128;
  block.bits_ = most;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), block.bits_);
    if (error != std::errc() || end != digits.data() + digits.size() || (digits.size() > 1 && digits[0] == '0')) {
      return invalid("the number after `/` is not a number of bits");
    }
    // The long form of an IPv4 address counts its 96 bits of prefix.
    if (address->is_v4() && text.find(':') != std::string_view::npos) {
      if (block.bits_ < 96) return invalid("a block of IPv4 addresses in IPv6 form has at least 96 bits");
      block.bits_ -= 96;
    }
    if (block.bits_ > most) return invalid("it has at most " + std::to_string(most) + " bits");
  }
  if (has_bits_after(block.address_, block.bits_)) return invalid("bits after the prefix are set");
  return block;
}

bool AddressBlock::contains(const Address& address) const {
  if (address.is_v4() != address_.is_v4()) return false;
  const std::size_t first = address.is_v4() ? v4_at : 0;
  const std::size_t whole = bits_ / 8;
  const auto& mine = address_.bytes();
  const auto& other = address.bytes();
  if (!std::equal(mine.begin() + first, mine.begin() + first + whole, other.begin() + first)) return false;
  const unsigned rest = bits_ % 8;
  return rest == 0 || (mine[first + whole] ^ other[first + whole]) >> (8 - rest) == 0;
}

bool AddressBlock::contains(const AddressBlock& other) const {
  return other.bits_ >= bits_ && contains(other.address_);
}

std::string AddressBlock::text() const {
  const unsigned most = address_.is_v4() ? 32 : 128;
  return bits_ == most ? address_.text() : address_.text() + "/" + std::to_string(bits_);
}

const char* reserved_use(const Address& address) {
  const auto found =
      std::ranges::find_if(reserved(), [&](const Reserved& each) { return each.block.contains(address); });
  return found == reserved().end() ? nullptr : found->use;
}

bool is_reserved(const AddressBlock& block) {
  return std::ranges::any_of(reserved(), [&](const Reserved& each) { return each.block.contains(block); });
}

}  // namespace cloche::egress
