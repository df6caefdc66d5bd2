// Address: where an HTTP service is, from its URL.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "http/endpoint.hpp"

namespace cloche::http {

struct Address {
  Endpoint endpoint;
  std::string prefix;  // of all paths; without a slash at its end
};

// `http://HOST[:PORT][/PREFIX]`, the same with https, or `unix:/PATH`. `certificates` is the file of authorities for
// https. invalid_argument for anything else; a password is not repeated.
Result<Address> parse_address(std::string_view url, const std::string& certificates);

// A host name, with or without a port.
bool is_domain(std::string_view text);

}  // namespace cloche::http
