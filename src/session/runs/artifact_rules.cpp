#include "session/runs/artifact_rules.hpp"

#include "pattern/path_filter.hpp"

namespace cloche::session {

ChangeRules ArtifactChoice::over(ChangeRules rules) const {
  if (usual) rules.usual = *usual;
  if (include) rules.include = *include;
  if (exclude) rules.exclude = *exclude;
  return rules;
}

Status check_artifact_patterns(const std::vector<std::string>& patterns, std::string_view what) {
  // As the agent will parse them.
  auto compiled = PathFilter::compile(patterns, what);
  if (!compiled) return fail(std::move(compiled).error());
  return {};
}

}  // namespace cloche::session
