// PathFilter: glob patterns that pick names out of a tree, as `exclude` and `include` of a request. No I/O here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pattern/glob_pattern.hpp"

namespace cloche {

// A pattern matches a name wherever it is, or a whole path below the top. One that ends with a slash matches
// directories alone. Names that start with a dot are names as any others.
class PathFilter {
 public:
  // invalid_argument for more than 100 patterns, and for what GlobPattern refuses. `what` is for errors.
  static Result<PathFilter> compile(const std::vector<std::string>& patterns, std::string_view what);

  bool empty() const { return patterns_.empty(); }
  bool matches(std::string_view path, std::string_view name, GlobPattern::Is is) const;

 private:
  std::vector<GlobPattern> patterns_;
};

}  // namespace cloche
