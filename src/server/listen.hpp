// Where a service listens, as people write it.
#pragma once

#include <string_view>

#include "config/settings.hpp"
#include "http/server/server.hpp"

namespace cloche::server {

// "127.0.0.1:8080", "[::1]:8080", ":8080" (loopback), "unix:/path".
Result<http::ListenOn> parse_listen(std::string_view text);
// Whether only this machine can reach it.
bool is_local(const http::ListenOn& listen);

// The addresses of the configuration, or `flags` instead if there are any.
Result<std::vector<http::ListenOn>> listen_on(const config::ServerSettings& settings,
                                              const std::vector<std::string>& flags);

}  // namespace cloche::server
