#include <charconv>

#include "server/service.hpp"

namespace cloche::server {

Result<http::ListenOn> parse_listen(std::string_view text) {
  if (text.starts_with("unix:")) {
    http::ListenUnix listen;
    listen.path = text.substr(5);
    if (!listen.path.starts_with('/')) {
      return fail(ErrorCode::invalid_argument, "a unix socket is named by an absolute path: 'unix:/run/cloche.sock'");
    }
    return listen;
  }
  const auto colon = text.rfind(':');
  const auto wrong = [&] {
    return fail(ErrorCode::invalid_argument, "not an address to listen on: '" + std::string(text) +
                                                 "'; say 127.0.0.1:8080, [::1]:8080 or unix:/path");
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

bool is_local(const http::ListenOn& listen) {
  const auto* tcp = std::get_if<http::ListenTcp>(&listen);
  return tcp == nullptr || tcp->host == "localhost" || tcp->host == "::1" || tcp->host.starts_with("127.");
}

}  // namespace cloche::server
