// `tenants:` of a thing that has owners: a list of tenants, or the word `all`.
#pragma once

#include <optional>

#include "auth/access_list.hpp"
#include "config/section.hpp"

namespace cloche::config {

// Nothing if the key is missing, which is not the same as an empty list: that closes the resource on purpose.
std::optional<auth::AccessList> read_tenants(Section& section);

}  // namespace cloche::config
