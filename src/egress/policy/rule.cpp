#include "egress/policy/rule.hpp"

#include <algorithm>
#include <charconv>

#include "core/file_error.hpp"
#include "core/utf8.hpp"
#include "egress/policy/host_name.hpp"

namespace cloche::egress {

namespace {

std::unexpected<Error> invalid_rule(std::string_view text, std::string_view why) {
  return fail(ErrorCode::invalid_argument, "invalid rule `" + shown(text) + "`: " + std::string(why));
}

std::optional<std::uint16_t> parse_port(std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0 || digits[0] == '0')
    return std::nullopt;
  return port;
}

Result<HostPattern> parse_host(std::string_view text) {
  if (text == "*") return AnyName{};
  if (text.starts_with("*.")) {
    CLOCHE_TRY(std::string suffix, normalize_host(text.substr(2)));
    return NamesBelow{std::move(suffix)};
  }
  if (text.find('*') != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "`*` stands alone or as the first label, as in `*.example.org`");
  }
  if (text.find('/') != std::string_view::npos || Address::parse(text)) {
    CLOCHE_TRY(AddressBlock block, AddressBlock::parse(text));
    return block;
  }
  CLOCHE_TRY(std::string name, normalize_host(text));
  return ExactName{std::move(name)};
}

struct HostAndPorts {
  std::string host;
  std::string_view ports;  // empty: none given
};

Result<HostAndPorts> split(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return invalid_rule(text, "`]` is missing");
    const std::string_view after = text.substr(close + 1);
    const std::size_t colon = after.find(':');
    std::string host(text.substr(1, close - 1));
    host += after.substr(0, colon);  // the prefix's length, if there is one
    if (!after.empty() && after.front() != ':' && after.front() != '/')
      return invalid_rule(text, "`:` or `/` follows `]`");
    if (colon == std::string_view::npos) return HostAndPorts{std::move(host), {}};
    if (colon + 1 == after.size()) return invalid_rule(text, "a port follows `:`");
    return HostAndPorts{std::move(host), after.substr(colon + 1)};
  }
  const std::size_t colon = text.find(':');
  // More than one: an IPv6 address without brackets, which has no port.
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
    return HostAndPorts{std::string(text), {}};
  }
  if (colon + 1 == text.size()) return invalid_rule(text, "a port follows `:`");
  return HostAndPorts{std::string(text.substr(0, colon)), text.substr(colon + 1)};
}

std::string text_of(const HostPattern& host) {
  struct Writer {
    std::string operator()(const AnyName&) const { return "*"; }
    std::string operator()(const NamesBelow& below) const { return "*." + below.suffix; }
    std::string operator()(const ExactName& exact) const { return exact.name; }
    std::string operator()(const AddressBlock& block) const { return block.text(); }
  };
  return std::visit(Writer{}, host);
}

// A prefix ends where a segment ends: `/api` is a prefix of `/api` and `/api/x`, not of `/apis`.
bool is_path_prefix(std::string_view prefix, std::string_view path) {
  if (!path.starts_with(prefix)) return false;
  return prefix.ends_with('/') || path.size() == prefix.size() || path[prefix.size()] == '/';
}

bool is_odd_path(std::string_view path) {
  // What a server may read as another path: dot segments, in any spelling, encoded or doubled slashes, backslashes, and
  // what is not UTF-8: some decoders take an overlong form for the character itself.
  std::string decoded;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%' && i + 2 < path.size()) {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(path.data() + i + 1, path.data() + i + 3, value, 16);
      if (error == std::errc() && end == path.data() + i + 3) {
        if (value == '/' || value == '\\' || value == '%' || value < 0x20) return true;
        decoded += static_cast<char>(value);
        i += 2;
        continue;
      }
    }
    decoded += path[i];
  }
  if (!is_utf8(decoded)) return true;
  if (decoded.find('\\') != std::string::npos || decoded.find("//") != std::string::npos) return true;
  return (decoded + "/").find("/./") != std::string::npos || (decoded + "/").find("/../") != std::string::npos ||
         decoded.find(";") != std::string::npos;
}

}  // namespace

Result<PortRange> parse_ports(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
  if (!first || !last || *first > *last) {
    return fail(ErrorCode::invalid_argument,
                "invalid ports `" + shown(text) + "`: a port is 1 to 65535, a range is FIRST-LAST");
  }
  return PortRange{*first, *last};
}

Result<Rule> parse_rule(std::string_view text) {
  CLOCHE_TRY(const HostAndPorts parts, split(text));
  Rule rule;
  auto host = parse_host(parts.host);
  if (!host) return invalid_rule(text, host.error().message);
  rule.host = std::move(*host);
  if (!parts.ports.empty()) {
    auto ports = parse_ports(parts.ports);
    if (!ports) return invalid_rule(text, ports.error().message);
    rule.ports.push_back(*ports);
  }
  return rule;
}

std::string Rule::text() const {
  std::string written = text_of(host);
  if (ports.empty()) return written;
  // An IPv6 address needs brackets before a port, its prefix's length outside of them.
  if (const auto* block = std::get_if<AddressBlock>(&host); block && written.find(':') != std::string::npos) {
    const std::size_t slash = written.find('/');
    written = "[" + written.substr(0, slash) + "]" + (slash == std::string::npos ? "" : written.substr(slash));
  }
  for (const char* separator = ":"; const PortRange& range : ports) {
    written += separator + std::to_string(range.first);
    if (range.last != range.first) written += "-" + std::to_string(range.last);
    separator = ",";
  }
  return written;
}

bool matches_name(const Rule& rule, std::string_view name) {
  if (std::holds_alternative<AnyName>(rule.host)) return true;
  if (const auto* below = std::get_if<NamesBelow>(&rule.host)) return is_below(name, below->suffix);
  if (const auto* exact = std::get_if<ExactName>(&rule.host)) return exact->name == name;
  return false;
}

bool matches_address(const Rule& rule, const Address& address) {
  const auto* block = std::get_if<AddressBlock>(&rule.host);
  return block != nullptr && block->contains(address);
}

bool matches_port(const Rule& rule, Effect effect, std::uint16_t port) {
  if (rule.ports.empty()) return effect == Effect::deny || port == 80 || port == 443;
  return std::ranges::any_of(rule.ports,
                             [&](const PortRange& range) { return port >= range.first && port <= range.last; });
}

bool matches_request(const Rule& rule, Effect effect, std::string_view method, std::string_view path) {
  if (!rule.methods.empty() && std::ranges::find(rule.methods, method) == rule.methods.end()) return false;
  if (rule.paths.empty()) return true;
  if (is_odd_path(path)) return effect == Effect::deny;
  return std::ranges::any_of(rule.paths, [&](const std::string& prefix) { return is_path_prefix(prefix, path); });
}

}  // namespace cloche::egress
