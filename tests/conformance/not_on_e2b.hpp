// Cases that cannot hold on a service of E2B, each with its reason.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche {

// nullopt for a case that holds. `name` is without the target's.
std::optional<std::string> why_not_on_e2b(std::string_view name);

}  // namespace cloche
