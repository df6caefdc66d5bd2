#include "pool/secrets.hpp"

#include <cstdlib>

namespace cloche::pool {

Secrets::Secrets(std::map<std::string, std::string> known, Lookup environment)
    : known_(std::move(known)), environment_(std::move(environment)) {}

Result<std::map<std::string, std::string>> Secrets::resolve(const std::vector<std::string>& names) const {
  std::map<std::string, std::string> resolved;
  for (const std::string& name : names) {
    if (const auto known = known_.find(name); known != known_.end()) {
      resolved[name] = known->second;
    } else if (auto found = environment_(name)) {
      resolved[name] = std::move(*found);
    } else {
      return fail(ErrorCode::not_found, "the secret '" + name +
                                            "' is not set: put it under `secrets`, or in the environment of the "
                                            "process that manages the pools");
    }
  }
  return resolved;
}

std::optional<std::string> Secrets::from_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace cloche::pool
