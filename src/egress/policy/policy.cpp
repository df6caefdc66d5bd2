#include "egress/policy/policy.hpp"

#include <algorithm>

#include "egress/policy/host_name.hpp"

namespace cloche::egress {

namespace {

std::string text_of(const Destination& destination) {
  return (destination.name.empty() ? destination.address->text() : destination.name) + ":" +
         std::to_string(destination.port);
}

// By its name, or by the address if it has none.
bool matches(const Rule& rule, Effect effect, const Destination& destination) {
  if (!matches_port(rule, effect, destination.port)) return false;
  return destination.name.empty() ? matches_address(rule, *destination.address) : matches_name(rule, destination.name);
}

// The rule that denies the destination: whatever is requested, or because the requests cannot be read.
const Rule* find_denial(const Policy& policy, const Destination& destination, const Address* address,
                        Carriage carriage) {
  const auto denies = [&](const Rule& rule) {
    if (rule.needs_requests() && carriage == Carriage::requests) return false;
    if (matches(rule, Effect::deny, destination)) return true;
    return address != nullptr && matches_port(rule, Effect::deny, destination.port) && matches_address(rule, *address);
  };
  const auto found = std::ranges::find_if(policy.deny, denies);
  return found == policy.deny.end() ? nullptr : &*found;
}

// Whether a rule for addresses that are not public names this one. A block that has public addresses too does not.
const Rule* find_naming_rule(const Policy& policy, const Address& address, std::uint16_t port) {
  const auto names = [&](const Rule& rule) {
    const auto* block = std::get_if<AddressBlock>(&rule.host);
    return block != nullptr && is_reserved(*block) && block->contains(address) &&
           matches_port(rule, Effect::allow, port);
  };
  const auto found = std::ranges::find_if(policy.allow, names);
  return found == policy.allow.end() ? nullptr : &*found;
}

Decision denied(const Destination& destination, const Rule& rule) {
  return Decision::no("the policy denies " + text_of(destination), rule.text());
}

}  // namespace

Result<Destination> parse_destination(std::string_view host, std::uint16_t port) {
  if (port == 0) return fail(ErrorCode::invalid_argument, "port 0 cannot be connected to");
  std::string_view bare = host;
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) bare = host.substr(1, host.size() - 2);
  Destination destination{.name = {}, .address = Address::parse(bare), .port = port};
  if (destination.address && (!bracketed || bare.find(':') != std::string_view::npos)) return destination;
  CLOCHE_TRY(destination.name, normalize_host(host));
  destination.address.reset();
  return destination;
}

Decision decide_destination(const Policy& policy, const Destination& destination, Carriage carriage) {
  if (policy.network == Network::none) return Decision::no("the sandbox has no network");
  if (const Rule* rule = find_denial(policy, destination, nullptr, carriage)) return denied(destination, *rule);
  bool only_for_requests = false;
  for (const Rule& rule : policy.allow) {
    if (!matches(rule, Effect::allow, destination)) continue;
    if (carriage == Carriage::requests || !rule.needs_requests()) return Decision::yes(rule.text());
    only_for_requests = true;
  }
  if (policy.network == Network::internet) return Decision::yes({});
  if (only_for_requests) {
    return Decision::no("the rule for " + text_of(destination) +
                        " allows certain requests, and these bytes cannot be read");
  }
  return Decision::no("no rule allows " + text_of(destination));
}

Decision decide_address(const Policy& policy, const Destination& destination, const Address& address,
                        Carriage carriage) {
  if (policy.network == Network::none) return Decision::no("the sandbox has no network");
  if (const Rule* rule = find_denial(policy, destination, &address, carriage)) return denied(destination, *rule);
  const char* use = reserved_use(address);
  if (use == nullptr) return Decision::yes({});
  if (const Rule* rule = find_naming_rule(policy, address, destination.port)) return Decision::yes(rule->text());
  const std::string subject =
      destination.name.empty() ? address.text() : destination.name + " (" + address.text() + ")";
  return Decision::no(subject + " is not a public address (" + use + "), and no rule names it");
}

Decision decide_request(const Policy& policy, const Destination& destination, const Address& address,
                        std::string_view method, std::string_view path) {
  for (const Rule& rule : policy.deny) {
    const bool concerned = matches(rule, Effect::deny, destination) ||
                           (matches_port(rule, Effect::deny, destination.port) && matches_address(rule, address));
    if (concerned && matches_request(rule, Effect::deny, method, path)) {
      return Decision::no("the policy denies this request to " + text_of(destination), rule.text());
    }
  }
  for (const Rule& rule : policy.allow) {
    if (matches(rule, Effect::allow, destination) && matches_request(rule, Effect::allow, method, path)) {
      return Decision::yes(rule.text());
    }
  }
  if (policy.network == Network::internet) return Decision::yes({});
  return Decision::no("no rule allows this method and path at " + text_of(destination));
}

const Rule* find_secret_rule(const Policy& policy, const Destination& destination) {
  const auto found = std::ranges::find_if(policy.allow, [&](const Rule& rule) {
    return rule.secret.has_value() && matches(rule, Effect::allow, destination);
  });
  return found == policy.allow.end() ? nullptr : &*found;
}

}  // namespace cloche::egress
