// Cases that cannot hold on a Kubernetes cluster, each with its reason.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche {

// nullopt for a case that holds. `name` is without the target's; `runtime` is the RuntimeClass.
std::optional<std::string> why_not_on_kubernetes(std::string_view name, std::string_view runtime);

}  // namespace cloche
