// A rule of a policy: which destinations it is about, and for HTTP which requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "egress/policy/address.hpp"

namespace cloche::egress {

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  bool operator==(const PortRange&) const = default;
};

// `*`, which is every name; never an address.
struct AnyName {
  bool operator==(const AnyName&) const = default;
};
// `*.example.org`: every name below it, at any depth.
struct NamesBelow {
  std::string suffix;
  bool operator==(const NamesBelow&) const = default;
};
struct ExactName {
  std::string name;
  bool operator==(const ExactName&) const = default;
};
using HostPattern = std::variant<AnyName, NamesBelow, ExactName, AddressBlock>;

// How a secret is put on a request.
struct SecretUse {
  enum class Where { header, basic_auth, query };
  std::string secret;  // its name in the configuration
  Where where = Where::header;
  std::string name;                         // of the header or the query parameter; the user of basic_auth
  std::string value_template = "{secret}";  // header: what `{secret}` is replaced in
  bool operator==(const SecretUse&) const = default;
};

struct Rule {
  HostPattern host;
  std::vector<PortRange> ports;      // empty: every port, for a rule that denies; 80 and 443, for one that allows
  std::vector<std::string> methods;  // upper case; empty: all
  std::vector<std::string> paths;    // prefixes of whole segments; empty: all
  std::optional<SecretUse> secret;

  // Whether only a broker that reads the requests can apply it.
  bool needs_requests() const { return !methods.empty() || !paths.empty() || secret.has_value(); }
  // As it is written in the configuration, without methods, paths and secret.
  std::string text() const;
  bool operator==(const Rule&) const = default;
};

// `HOST`, `HOST:PORT` or `HOST:FIRST-LAST`, where HOST is a name, `*.NAME`, `*`, an address or a block. IPv6 with a
// port is in brackets: `[2001:db8::]/32:443`, `[::1]:80`.
Result<Rule> parse_rule(std::string_view text);
// `443` or `8000-8999`.
Result<PortRange> parse_ports(std::string_view text);

bool matches_name(const Rule& rule, std::string_view normalized_name);
bool matches_address(const Rule& rule, const Address& address);
enum class Effect { allow, deny };
bool matches_port(const Rule& rule, Effect effect, std::uint16_t port);
// The path as it came, percent-encoded, without the query. A path that a server could read as another one (`/a/../b`,
// `/a%2fb`) matches every rule that denies a path, and none that allows one.
bool matches_request(const Rule& rule, Effect effect, std::string_view method, std::string_view path);

}  // namespace cloche::egress
