// ChangeRules: which files of a tree `changes` reports. Callers seldom want to see the many files that tools create for
// themselves.
#pragma once

#include "agent/files/tree/tree_walk.hpp"
#include "pattern/path_filter.hpp"
#include "wire/file_messages.hpp"

namespace cloche::agent {

class ChangeRules {
 public:
  static Result<ChangeRules> of(const wire::FileRequest& request);

  // Names that are skipped, including everything below them: with `ignore_usual` those that start with a dot,
  // `__pycache__`, `node_modules`, compiled Python and virtual environments; and what `exclude` matches.
  bool pass_over(const Found& found) const;
  // For a file that is not skipped: whether `include` matches it.
  bool wants(const Found& found) const;

 private:
  bool ignore_usual_ = false;
  PathFilter exclude_;
  PathFilter include_;
};

}  // namespace cloche::agent
