#include "server/listen.hpp"

#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace cloche::server {

Result<http::ListenOn> parse_listen(std::string_view text) {
  if (text.starts_with("unix:")) {
    http::ListenUnix listen;
    listen.path = text.substr(5);
    if (!listen.path.starts_with('/')) {
      return fail(ErrorCode::invalid_argument,
                  "a Unix socket must be an absolute path, such as 'unix:/run/cloche.sock'");
    }
    return listen;
  }
  const auto colon = text.rfind(':');
  const auto wrong = [&] {
    return fail(ErrorCode::invalid_argument,
                "invalid listen address: '" + std::string(text) + "'; use 127.0.0.1:8080, [::1]:8080 or unix:/path");
  };
  if (colon == std::string_view::npos) return wrong();
  http::ListenTcp listen;
  listen.host = text.substr(0, colon);
  if (listen.host.starts_with('[') && listen.host.ends_with(']'))
    listen.host = listen.host.substr(1, listen.host.size() - 2);
  if (listen.host.empty()) listen.host = "127.0.0.1";
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), listen.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) return wrong();
  return listen;
}

Result<std::vector<http::ListenOn>> listen_on(const config::ServerSettings& settings,
                                              const std::vector<std::string>& flags) {
  std::vector<std::string> texts = flags.empty() ? settings.listen : flags;
  if (texts.empty()) texts = {"127.0.0.1:8080"};
  std::vector<http::ListenOn> all;
  for (const std::string& text : texts) {
    CLOCHE_TRY(http::ListenOn listen, parse_listen(text));
    auto* tcp = std::get_if<http::ListenTcp>(&listen);
    if (tcp != nullptr && settings.tls) tcp->certificate = {settings.tls->certificate, settings.tls->key};
    all.push_back(std::move(listen));
  }
  return all;
}

bool is_local(const http::ListenOn& listen) {
  const auto* tcp = std::get_if<http::ListenTcp>(&listen);
  if (tcp == nullptr || tcp->host == "localhost") return true;
  boost::system::error_code no_address;
  const auto address = asio::ip::make_address(tcp->host, no_address);
  return !no_address && address.is_loopback();
}

}  // namespace cloche::server
