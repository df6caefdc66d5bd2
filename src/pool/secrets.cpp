#include "pool/secrets.hpp"

#include <algorithm>

namespace cloche::pool {

namespace {

constexpr std::size_t longest_name = 128;

// Names come from requests: what could be no secret's name is refused before anything is looked up, and not repeated.
Status check_name(const std::string& name) {
  const auto is_odd = [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '='; };
  if (!name.empty() && name.size() <= longest_name && !std::ranges::any_of(name, is_odd)) return {};
  return fail(ErrorCode::invalid_argument,
              "invalid secret name: it must have 1 to 128 characters, without '=' and control characters");
}

std::unexpected<Error> no_such_secret(const std::string& name) {
  return fail(ErrorCode::not_found, "no such secret: '" + name + "'");
}

}  // namespace

Status Secrets::check(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (!known_.contains(name)) return no_such_secret(name);
  }
  return {};
}

Result<Secrets::Values> Secrets::of_profile(const std::vector<std::string>& names) const {
  Values values;
  for (const std::string& name : names) {
    const auto found = known_.find(name);
    if (found == known_.end()) return no_such_secret(name);
    values[name] = found->second;
  }
  return values;
}

Result<Secrets::Values> Secrets::of_claim(const std::vector<std::string>& names, const std::string& tenant,
                                          const auth::AccessTable& access) const {
  for (const std::string& name : names) CLOCHE_CHECK(check_name(name));
  Values values;
  for (const std::string& name : names) {
    const bool allowed = access.allows(auth::Resource::secret, name, tenant);
    const auto found = known_.find(name);
    if (!allowed || found == known_.end()) return no_such_secret(name);
    values[name] = found->second;
  }
  return values;
}

}  // namespace cloche::pool
