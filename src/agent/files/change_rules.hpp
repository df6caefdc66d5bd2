// ChangeRules: which files of a tree `changes` tells of. What is made by tools for themselves is seldom what a caller
// wants to see, and there is much of it.
#pragma once

#include "agent/files/path_filter.hpp"
#include "agent/files/tree_walk.hpp"
#include "wire/file_messages.hpp"

namespace cloche::agent {

class ChangeRules {
 public:
  static Result<ChangeRules> of(const wire::FileRequest& request);

  // Names that are not told of, nor what is below them: with `ignore_usual` those that start with a dot,
  // `__pycache__`, `node_modules`, compiled Python and virtual environments; and what `exclude` matches.
  bool pass_over(const Found& found) const;
  // Of a file that is not passed over: whether `include` has it.
  bool wants(const Found& found) const;

 private:
  bool ignore_usual_ = false;
  PathFilter exclude_;
  PathFilter include_;
};

}  // namespace cloche::agent
