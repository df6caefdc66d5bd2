#include "egress/broker/upstream_proxy.hpp"

#include <charconv>
#include <optional>

#include "core/base64.hpp"
#include "core/text.hpp"
#include "egress/broker/prefixed_stream.hpp"
#include "egress/policy/policy.hpp"
#include "http/grammar.hpp"
#include "http/response_reader.hpp"

namespace cloche::egress {

namespace {

constexpr std::uint16_t usual_port = 3128;
constexpr std::size_t longest_response = std::size_t{16} << 10;

std::unexpected<Error> invalid_proxy(std::string why) {
  return fail(ErrorCode::invalid_argument,
              "invalid upstream proxy: " + std::move(why) + "; expected http://[USER:PASSWORD@]HOST[:PORT]");
}

int hex_value(char c) {
  const auto found = hex_digits.find(lower(c));
  return found == std::string_view::npos ? -1 : static_cast<int>(found);
}

// Percent-encoding, as in a URL.
std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) return std::nullopt;
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

Error refused_by_proxy(unsigned status) {
  const std::string code = std::to_string(status);
  if (status == 407) {
    return {ErrorCode::permission_denied, "the upstream proxy requires credentials (" + code + ")"};
  }
  const bool slow = status == 504;
  return {slow ? ErrorCode::timeout : ErrorCode::permission_denied, "the upstream proxy refused with status " + code};
}

// The response to CONNECT, whose body is nothing: what follows the head is the tunnel.
Task<Result<std::string>> read_response(http::Stream& stream, Deadline deadline) {
  http::ReaderLimits limits;
  limits.head = Bytes{longest_response};
  http::ResponseReader reader(limits, http::BodyRule::none);
  std::string unread;
  std::string room(4096, '\0');
  for (;;) {
    CLOCHE_CO_TRY(const std::size_t count, co_await stream.read_some(room, deadline));
    if (count == 0) co_return fail(ErrorCode::unavailable, "the upstream proxy closed the connection");
    unread.append(room, 0, count);
    auto used = reader.feed(unread);
    if (!used) co_return fail(ErrorCode::protocol, std::move(used).error().message);
    unread.erase(0, *used);
    if (!reader.head_done()) continue;
    const unsigned status = reader.head().status;
    if (status < 200 || status > 299) co_return fail(refused_by_proxy(status));
    co_return unread;
  }
}

}  // namespace

Result<UpstreamProxy> parse_upstream_proxy(std::string_view url) {
  const std::string_view scheme = "http://";
  if (!same_word(url.substr(0, scheme.size()), scheme)) return invalid_proxy("it does not begin with http://");
  url.remove_prefix(scheme.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  UpstreamProxy proxy;
  if (const auto at = url.rfind('@'); at != std::string_view::npos) {
    auto credentials = decoded(url.substr(0, at));
    if (!credentials || credentials->find(':') == std::string::npos || !http::is_field_value(*credentials)) {
      return invalid_proxy("its credentials are not USER:PASSWORD");
    }
    proxy.credentials = std::move(*credentials);
    url.remove_prefix(at + 1);
  }
  proxy.port = usual_port;
  const auto colon = url.rfind(':');
  if (colon != std::string_view::npos && url.find(']', colon) == std::string_view::npos) {
    const std::string_view digits = url.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), proxy.port);
    if (error != std::errc() || end != digits.data() + digits.size() || proxy.port == 0) {
      return invalid_proxy("its port is not a number from 1 to 65535");
    }
    url = url.substr(0, colon);
  }
  auto place = parse_destination(url, proxy.port);
  if (!place) return invalid_proxy(place.error().message);
  proxy.host = place->address ? place->address->text() : place->name;
  return proxy;
}

Task<Result<std::unique_ptr<http::Stream>>> connect_through(Executor executor, const UpstreamProxy& proxy,
                                                            std::string authority, Deadline deadline) {
  const http::Endpoint endpoint = http::TcpEndpoint{proxy.host, std::to_string(proxy.port)};
  auto stream = co_await http::open_stream(executor, endpoint, deadline);
  if (!stream) co_return fail(std::move(stream).error().at("upstream proxy"));
  std::string head = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
  if (!proxy.credentials.empty()) head += "Proxy-Authorization: Basic " + encode_base64(proxy.credentials) + "\r\n";
  head += "\r\n";
  auto written = co_await (*stream)->write_all(head, deadline);
  if (!written) co_return fail(std::move(written).error().at("upstream proxy"));
  auto first = co_await read_response(**stream, deadline);
  if (!first) co_return fail(std::move(first).error().at("upstream proxy"));
  if (first->empty()) co_return std::move(*stream);
  co_return std::make_unique<PrefixedStream>(std::move(*first), std::move(*stream));
}

}  // namespace cloche::egress
