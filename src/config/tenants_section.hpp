// `tenants:` of a thing that has owners: a list of tenants, or the word `all`.
#pragma once

#include <optional>

#include "auth/access_list.hpp"
#include "config/section.hpp"

namespace cloche::config {

// Nothing when the key is not there, which is not the same as an empty list: that closes the thing on purpose.
std::optional<auth::AccessList> read_tenants(Section& section);

}  // namespace cloche::config
