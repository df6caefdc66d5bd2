// Variables that every program of an E2B sandbox has, by which it knows where it runs.
#pragma once

#include <map>
#include <string>

#include "session/session.hpp"

namespace cloche::dialect::e2b {

// What the caller gave the sandbox for these names comes first.
inline std::map<std::string, std::string> sandbox_environment(const session::Session& session) {
  const session::SessionOptions& options = session.options();
  std::map<std::string, std::string> all{{"E2B_SANDBOX", "true"}, {"E2B_SANDBOX_ID", session.key().id}};
  if (const auto found = options.attributes.find("e2b.template"); found != options.attributes.end()) {
    all.emplace("E2B_TEMPLATE_ID", found->second);
  }
  for (const auto& [name, value] : options.env) {
    if (const auto own = all.find(name); own != all.end()) own->second = value;
  }
  return all;
}

}  // namespace cloche::dialect::e2b
