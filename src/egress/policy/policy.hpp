// What a sandbox may reach. Pure: it is asked before a name is resolved, again for each address that it resolved to,
// and for each HTTP request that the broker reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/network.hpp"
#include "egress/policy/rule.hpp"

namespace cloche::egress {

struct Policy {
  Network network = Network::none;
  std::vector<Rule> allow;  // in `internet`: what is allowed in addition, such as private addresses
  std::vector<Rule> deny;   // wins
};

// Where a program wants to connect to: a normalized name, or an address.
struct Destination {
  std::string name;  // empty: it gave an address
  std::optional<Address> address;
  std::uint16_t port = 0;
};
// From the host of a CONNECT, a URL or a SOCKS request; an IPv6 address may be in brackets. invalid_argument if it is
// neither a name nor an address.
Result<Destination> parse_destination(std::string_view host, std::uint16_t port);

struct Decision {
  bool allowed = false;
  // The rule that decided: as it is written. Empty: none did, the policy's `network` alone.
  std::string rule;
  std::string reason;  // why not; for people

  static Decision yes(std::string rule) { return {.allowed = true, .rule = std::move(rule), .reason = {}}; }
  static Decision no(std::string reason, std::string rule = {}) {
    return {.allowed = false, .rule = std::move(rule), .reason = std::move(reason)};
  }
};

// How the broker will carry the connection.
enum class Carriage {
  opaque,    // bytes that it does not read: TLS, or any other protocol
  requests,  // HTTP that it reads: plain, or TLS that it ends itself
};

// Before resolution. A destination that is allowed here may still be refused for its address or its requests.
Decision decide_destination(const Policy& policy, const Destination& destination, Carriage carriage);
// For an address that the destination's name resolved to, or that was given. Connect to that very address.
Decision decide_address(const Policy& policy, const Destination& destination, const Address& address,
                        Carriage carriage);
// For a request to a destination that is allowed.
Decision decide_request(const Policy& policy, const Destination& destination, const Address& address,
                        std::string_view method, std::string_view path);

// The rule whose secret goes on requests to this destination; nullptr: none. The broker then ends TLS itself.
const Rule* find_secret_rule(const Policy& policy, const Destination& destination);

}  // namespace cloche::egress
