#include "api/call_origin.hpp"

#include <boost/asio/ip/address_v4.hpp>

namespace cloche::api {

namespace {

std::string_view without_port(std::string_view host) {
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos || host.ends_with(']')) return host;
  const std::string_view port = host.substr(colon + 1);
  const bool is_port = !port.empty() && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  return is_port ? host.substr(0, colon) : host;
}

std::unexpected<Error> refused(std::string why) { return fail(ErrorCode::permission_denied, std::move(why)); }

}  // namespace

bool names_this_machine(std::string_view host) {
  const std::string_view name = without_port(host);
  if (same_word(name, "localhost") || name == "[::1]") return true;
  boost::system::error_code none;
  const auto address = boost::asio::ip::make_address_v4(std::string(name), none);
  return !none && address.is_loopback();
}

Status check_call_origin(const http::Fields& fields, const http::Peer& peer, const HostTest& is_ours) {
  const std::string_view host = http::field_value(fields, "Host");
  // Browsers do not use Unix sockets, and always send Host.
  const bool nameless = peer.is_local() && host.empty();
  if (!nameless && !is_ours(host)) {
    return refused("without tokens, the Host header must be localhost, 127.0.0.1 or [::1]");
  }
  const std::string own = (peer.encrypted ? "https://" : "http://") + std::string(host);
  for (const auto& [name, value] : fields) {
    if (same_word(name, "Origin") && !same_word(value, own)) {
      return refused("without tokens, requests from pages of another origin are rejected");
    }
    const bool from_elsewhere =
        same_word(name, "Sec-Fetch-Site") && !same_word(value, "same-origin") && !same_word(value, "none");
    if (from_elsewhere) return refused("without tokens, requests from pages of another site are rejected");
  }
  return {};
}

// A loopback address is only visible on this machine, so the other end of such a connection is local.
auth::PeerPlace place_of(const http::Peer& peer) {
  const bool loopback =
      peer.address == "::1" || peer.address.starts_with("127.") || peer.address.starts_with("::ffff:127.");
  return peer.is_local() || loopback ? auth::PeerPlace::local : auth::PeerPlace::remote;
}

}  // namespace cloche::api
