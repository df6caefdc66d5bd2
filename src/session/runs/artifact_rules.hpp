// Which files count as artifacts of a run: the service's own rules, and what a request says over them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "sandbox/change_rules.hpp"

namespace cloche::session {

// What a request sets; defaults are those of the service.
struct ArtifactChoice {
  std::optional<ChangeRules::Usual> usual;
  std::optional<std::vector<std::string>> include;
  std::optional<std::vector<std::string>> exclude;

  ChangeRules over(ChangeRules rules) const;
};

// `invalid_argument` for an invalid pattern.
Status check_artifact_patterns(const std::vector<std::string>& patterns, std::string_view what);

}  // namespace cloche::session
