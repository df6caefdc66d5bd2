// Templates: what a sandbox is made from, by the name that a request gives it.
#pragma once

#include "dialect/e2b/parts.hpp"

namespace cloche::dialect::e2b {

struct Template {
  std::string id;  // without a team and a tag
  std::string profile;
  std::string snapshot;  // whose files it starts with; empty: none
};

// A name of the configuration, `base`, `code-interpreter-v1`, a profile that the tenant may use, or one of its
// snapshots. `not_found` names what was wanted.
Task<Result<Template>> find_template(Parts& parts, auth::AuthorizedTenant tenant, std::string wanted);

}  // namespace cloche::dialect::e2b
