// UpstreamProxy: an HTTP proxy of the operator, through which all connections go where there is one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "http/stream.hpp"

namespace cloche::egress {

struct UpstreamProxy {
  std::string host;
  std::uint16_t port = 3128;
  std::string credentials;  // `user:password`; empty: none
};

// `http://[USER:PASSWORD@]HOST[:PORT]`. The message of an error never contains the password.
Result<UpstreamProxy> parse_upstream_proxy(std::string_view url);

// Connects to `HOST:PORT` by CONNECT. `permission_denied` if the proxy refuses or requires other credentials,
// `protocol` if its response is not HTTP.
Task<Result<std::unique_ptr<http::Stream>>> connect_through(Executor executor, const UpstreamProxy& proxy,
                                                            std::string authority, Deadline deadline);

}  // namespace cloche::egress
