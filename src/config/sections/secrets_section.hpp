// `secrets:` of a configuration: names to values, or to where the value is and who may name it. No value is ever part
// of an error.
#pragma once

#include <map>
#include <string>

#include "auth/access_table.hpp"
#include "config/section.hpp"
#include "core/result.hpp"

namespace cloche::config {

struct Secrets {
  std::map<std::string, std::string> values;
  auth::AccessTable::Lists tenants;  // of those that list some: who may name them
  bool given_by_value = false;       // at least one is in the configuration itself
};

// The content of a file that only its owner and its group can read, without a line end at its end.
Result<std::string> read_secret_file(const std::string& path);

// A key of the service's own, below a key of the configuration: `{env: NAME}` or `{file: PATH}`, never the value
// itself.
std::string read_key(Section& section, const std::map<std::string, std::string>& environment);

Secrets read_secrets(Section& section, const std::map<std::string, std::string>& environment);

}  // namespace cloche::config
