// What programs of an E2B sandbox can know about it, and the variables by which they do.
#pragma once

#include <map>
#include <string>

#include "session/session.hpp"

namespace cloche::dialect::e2b {

inline std::map<std::string, std::string> sandbox_identity(const session::Session& session) {
  const session::SessionOptions& options = session.options();
  std::map<std::string, std::string> all{{"E2B_SANDBOX", "true"}, {"E2B_SANDBOX_ID", session.key().id}};
  if (const auto found = options.attributes.find("e2b.template"); found != options.attributes.end()) {
    all.emplace("E2B_TEMPLATE_ID", found->second);
  }
  return all;
}

// What the caller gave the sandbox for these names comes first.
inline std::map<std::string, std::string> sandbox_environment(const session::Session& session) {
  const session::SessionOptions& options = session.options();
  std::map<std::string, std::string> all = sandbox_identity(session);
  for (const auto& [name, value] : options.env) {
    if (const auto own = all.find(name); own != all.end()) own->second = value;
  }
  return all;
}

}  // namespace cloche::dialect::e2b
