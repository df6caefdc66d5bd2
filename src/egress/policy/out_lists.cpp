#include "egress/policy/out_lists.hpp"

#include <algorithm>
#include <charconv>

#include "core/file_error.hpp"
#include "egress/policy/rule.hpp"

namespace cloche::egress {

namespace {

std::unexpected<Error> invalid_entry(const std::string& entry, const std::string& why) {
  return fail(ErrorCode::invalid_argument, "invalid destination `" + shown(entry) + "`: " + why);
}

bool is_everything(const AddressBlock& block) { return block.text().ends_with("/0"); }

unsigned bits_of(const AddressBlock& block) {
  const std::string text = block.text();
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return text.find(':') == std::string::npos ? 32 : 128;
  unsigned bits = 0;
  std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits);
  return bits;
}

// The two halves of a block, which has at least two addresses. A part of the IPv6 addresses that means IPv4 addresses
// has no block of its own.
Result<std::vector<AddressBlock>> halves(const AddressBlock& block) {
  const std::string text = block.text();
  const unsigned bits = bits_of(block);
  const std::string length = "/" + std::to_string(bits + 1);
  CLOCHE_TRY(const AddressBlock lower, AddressBlock::parse(text.substr(0, text.find('/')) + length));
  const Address first = Address::parse(text.substr(0, text.find('/'))).value();
  const std::size_t at = (first.is_v4() ? 12 : 0) + bits / 8;
  std::array<std::uint8_t, 16> bytes = first.bytes();
  bytes[at] = static_cast<std::uint8_t>(bytes[at] | 0x80U >> bits % 8);
  const Address second = first.is_v4() ? Address::v4({bytes[12], bytes[13], bytes[14], bytes[15]}) : Address::v6(bytes);
  if (second.is_v4() != first.is_v4()) return invalid_entry(text, "a part of it cannot be allowed");
  CLOCHE_TRY(const AddressBlock upper, AddressBlock::parse(second.text() + length));
  return std::vector{lower, upper};
}

// Appends what is left of `block` without the kept blocks.
Status without(const AddressBlock& block, const std::vector<AddressBlock>& kept, std::vector<std::string>& left) {
  const auto covers = [&](const AddressBlock& other) { return other.contains(block); };
  if (std::ranges::any_of(kept, covers)) return {};
  const auto is_inside = [&](const AddressBlock& other) { return block.contains(other); };
  if (std::ranges::none_of(kept, is_inside)) {
    left.push_back(block.text());
    return {};
  }
  CLOCHE_TRY(const auto parts, halves(block));
  for (const AddressBlock& half : parts) CLOCHE_CHECK(without(half, kept, left));
  return {};
}

std::string on_every_port(Rule rule) {
  rule.ports = {{1, 65535}};
  return rule.text();
}

Result<Rule> parse_entry(const std::string& entry) {
  CLOCHE_TRY(Rule rule, parse_rule(entry));
  if (!rule.ports.empty()) return invalid_entry(entry, "it must not have a port");
  return rule;
}

}  // namespace

Result<NetworkPolicy> network_of(const OutLists& lists) {
  NetworkPolicy network;
  std::vector<AddressBlock> denied;
  for (const std::string& entry : lists.deny) {
    CLOCHE_TRY(const Rule rule, parse_entry(entry));
    const auto* block = std::get_if<AddressBlock>(&rule.host);
    if (block == nullptr) return invalid_entry(entry, "only addresses and blocks can be denied");
    denied.push_back(*block);
  }
  const bool nothing_else = std::ranges::any_of(denied, is_everything);
  network.mode = nothing_else ? Network::allow_list : Network::internet;
  std::vector<AddressBlock> allowed;
  for (const std::string& entry : lists.allow) {
    CLOCHE_TRY(const Rule rule, parse_entry(entry));
    if (const auto* block = std::get_if<AddressBlock>(&rule.host)) {
      allowed.push_back(*block);
      if (nothing_else) network.allow.push_back(on_every_port(rule));
    } else if (nothing_else) {
      network.allow.push_back(rule.text());
    } else {
      return invalid_entry(entry, "a name can be allowed only if 0.0.0.0/0 is denied");
    }
  }
  if (nothing_else) return network;
  for (const AddressBlock& block : denied) CLOCHE_CHECK(without(block, allowed, network.deny));
  return network;
}

}  // namespace cloche::egress
