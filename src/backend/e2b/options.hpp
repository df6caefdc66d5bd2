// E2bSettings: which E2B service to use, and how.
#pragma once

#include <string>

#include "cloche/engine_options.hpp"
#include "core/result.hpp"
#include "http/address.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

struct E2bSettings {
  std::string api_key;
  std::string domain;
  std::string template_name;
  bool allow_internet_access = false;
  bool secure_access = true;
  std::string api_url;       // empty: https://api.DOMAIN
  std::string sandbox_url;   // empty: https://49983-ID.DOMAIN
  std::string certificates;  // the authorities of https, as a file; empty: the host's own
  InstanceId instance;
  std::string agent_path;  // the static agent on this machine; read when first needed
};

// The options, and the environment (E2B_*, SSL_CERT_FILE) where they say nothing. invalid_argument for a variable that
// is neither true nor false.
Result<E2bSettings> e2b_settings(const E2bOptions& options);

namespace e2b {

using http::Address;

// The port of the service in each sandbox that runs programs and stores files.
inline constexpr int envd_port = 49983;

// Rejects addresses, names and an instance that could not be used later. A missing key is not among them: the first
// call reports it.
Status validate(const E2bSettings& settings);

Result<Address> control_address(const E2bSettings& settings);
// `domain`: of the service's response for this sandbox; may be empty.
Result<Address> sandbox_address(const E2bSettings& settings, const std::string& sandbox, const std::string& domain);

}  // namespace e2b
}  // namespace cloche
