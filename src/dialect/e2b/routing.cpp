#include "dialect/e2b/routing.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <optional>

#include "core/text.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::size_t longest_id = 40;

std::string_view without_port_of_host(std::string_view host) {
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos || host.ends_with(']')) return host;
  return host.substr(0, colon);
}

bool is_address(std::string_view name) {
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  boost::system::error_code none;
  boost::asio::ip::make_address(std::string(name), none);
  return !none;
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

std::size_t count_of_field(const http::Fields& fields, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(fields, [&](const auto& field) { return same_word(field.first, name); }));
}

Routed invalid(std::string why) {
  Routed routed;
  routed.to = Destination::invalid;
  routed.why = std::move(why);
  return routed;
}

Routed control() {
  Routed routed;
  routed.to = Destination::control;
  return routed;
}

Routed to_sandbox(std::string_view id, std::string_view port, NamedBy by) {
  Routed routed;
  routed.to = Destination::sandbox;
  routed.by = by;
  routed.sandbox = sandbox_id_of(id);
  if (routed.sandbox.empty()) return invalid("Invalid sandbox ID");
  const auto number = port_of(port);
  if (!number) return invalid("Invalid sandbox port");
  routed.port = *number;
  return routed;
}

// The label in front of the domain; nullopt if the host is not below it.
std::optional<std::string> label_below(std::string_view host, std::string_view domain) {
  if (domain.empty()) return std::nullopt;
  const std::string name = lower(without_port_of_host(host));
  const std::string suffix = "." + lower(without_port_of_host(domain));
  if (!name.ends_with(suffix)) return std::nullopt;
  return name.substr(0, name.size() - suffix.size());
}

// "49983-abc": it begins with a digit, and has a dash.
bool looks_like_port(std::string_view label) {
  return !label.empty() && label.front() >= '0' && label.front() <= '9' && label.find('-') != std::string_view::npos &&
         label.find('.') == std::string_view::npos;
}

bool is_signed_file(std::string_view method, const http::Target& target) {
  if (target.path != "/files") return false;
  if (method != "GET" && method != "POST" && method != "HEAD") return false;
  const std::string_view query = target.query;
  return query.starts_with("signature=") || query.find("&signature=") != std::string_view::npos;
}

}  // namespace

std::string sandbox_id_of(std::string_view text) {
  const std::string_view id = text.substr(0, text.find('-'));
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool is_id = !id.empty() && id.size() <= longest_id && std::ranges::all_of(id, fits);
  return is_id ? std::string(id) : std::string();
}

bool is_host_of(std::string_view host, std::string_view domain) {
  const auto label = label_below(host, domain);
  return label && (*label == "api" || *label == "sandbox" || looks_like_port(*label));
}

Routed route_of(std::string_view method, const http::Target& target, const http::Fields& fields,
                std::string_view domain) {
  const std::string_view host = http::field_value(fields, "Host");
  const auto label = label_below(host, domain);
  if (label && looks_like_port(*label)) {
    const auto dash = label->find('-');
    return to_sandbox(std::string_view(*label).substr(dash + 1), std::string_view(*label).substr(0, dash),
                      NamedBy::host);
  }
  if (label && *label == "api") return control();
  const std::size_t ids = count_of_field(fields, "E2b-Sandbox-Id");
  const std::size_t ports = count_of_field(fields, "E2b-Sandbox-Port");
  if (ids > 0) {
    const std::string_view name = without_port_of_host(host);
    const bool trusted = domain.empty() || name.empty() || same_word(name, "localhost") || is_address(name) ||
                         (label && *label == "sandbox");
    if (!trusted) return invalid("Invalid host");
    if (ids > 1 || ports > 1) return invalid("Invalid sandbox ID");
    return to_sandbox(http::field_value(fields, "E2b-Sandbox-Id"), http::field_value(fields, "E2b-Sandbox-Port"),
                      NamedBy::header);
  }
  if (is_signed_file(method, target)) {
    Routed routed;
    routed.to = Destination::signed_file;
    return routed;
  }
  if (count_of_field(fields, "X-API-Key") > 0) return control();
  if (target.path == "/health" && (method == "GET" || method == "HEAD")) return control();
  if (label && *label == "sandbox") return invalid("Missing sandbox ID");
  return {};
}

}  // namespace cloche::dialect::e2b
