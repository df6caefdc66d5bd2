// A real client hello, for tests.
#pragma once

#include <string>

namespace cloche::egress::testing {

// The first flight of OpenSSL's client. Empty name: without the extension.
std::string client_hello(const std::string& server_name);

}  // namespace cloche::egress::testing
