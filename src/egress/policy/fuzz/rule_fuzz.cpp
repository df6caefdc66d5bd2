// Any text as a rule and as a destination: no crash, and what is taken reads the same when it is written and read
// again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "egress/policy/policy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche::egress;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto rule = parse_rule(text)) {
    const auto again = parse_rule(rule->text());
    if (!again || *again != *rule) std::abort();
  }
  if (const auto destination = parse_destination(text, 443)) {
    if (destination->name.empty() != destination->address.has_value()) std::abort();
    // A name must not be an address for anyone else.
    if (Address::parse(destination->name)) std::abort();
    Policy policy{.network = cloche::Network::internet, .allow = {}, .deny = {}};
    if (destination->address &&
        !decide_address(policy, *destination, *destination->address, Carriage::opaque).allowed &&
        reserved_use(*destination->address) == nullptr) {
      std::abort();
    }
  }
  const std::size_t middle = size / 2;
  Rule rule{
      .host = AnyName{}, .ports = {}, .methods = {}, .paths = {std::string(text.substr(0, middle))}, .secret = {}};
  (void)matches_request(rule, Effect::allow, "GET", text.substr(middle));
  return 0;
}
