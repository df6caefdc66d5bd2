#include "pattern/path_filter.hpp"

#include <algorithm>

namespace cloche {

namespace {

constexpr std::size_t most_patterns = 100;

}  // namespace

Result<PathFilter> PathFilter::compile(const std::vector<std::string>& patterns, std::string_view what) {
  if (patterns.size() > most_patterns) {
    return fail(ErrorCode::invalid_argument,
                std::string(what) + ": more than " + std::to_string(most_patterns) + " patterns");
  }
  PathFilter filter;
  for (const std::string& pattern : patterns) {
    auto compiled = GlobPattern::compile(pattern, Hidden::match);
    if (!compiled) return fail(std::move(compiled).error().at(what));
    filter.patterns_.push_back(std::move(*compiled));
  }
  return filter;
}

bool PathFilter::matches(std::string_view path, std::string_view name, GlobPattern::Is is) const {
  return std::ranges::any_of(patterns_, [&](const GlobPattern& pattern) {
    return pattern.matches(name, is) || (path.size() != name.size() && pattern.matches(path, is));
  });
}

}  // namespace cloche
