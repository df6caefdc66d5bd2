// `cloche doctor --abandoned` and `--remove-abandoned`: what servers left behind that no living server owns.
#pragma once

#include <string>
#include <vector>

#include "cli/engine_flags.hpp"

namespace cloche::cli {

struct AbandonedFlags {
  bool show = false;
  bool remove = false;
  std::vector<std::string> owners;  // these, whatever their state; none: all that are abandoned
  bool json = false;

  bool chosen() const { return show || remove; }
};

int report_abandoned(const AbandonedFlags& flags, const EngineFlags& engine);

}  // namespace cloche::cli
