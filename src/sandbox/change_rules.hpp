// ChangeRules: which changed files of a tree are reported.
#pragma once

#include <string>
#include <vector>

namespace cloche {

struct ChangeRules {
  // Files that tools create for themselves: names that start with a dot, `__pycache__`, `node_modules`, compiled
  // Python, virtual environments.
  enum class Usual { told, ignored } usual = Usual::told;
  std::vector<std::string> include;  // globs of names or paths; none: all
  std::vector<std::string> exclude;  // these are not reported, nor what is below them

  bool operator==(const ChangeRules&) const = default;
};

}  // namespace cloche
