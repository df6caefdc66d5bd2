// What programs can reach, as the command line says it.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cloche/network.hpp"

namespace cloche::cli {

struct NetworkFlags {
  std::string mode;
  std::vector<std::string> rules;
  std::vector<std::string> allow;
  std::vector<std::string> deny;

  // --network, --allow, --deny
  void add_to(CLI::App& command);
  // --rules: where there is a service that has rule sets.
  void add_rule_sets_to(CLI::App& command);
  // None if no flag was given. Rules without a mode are an allow-list.
  std::optional<NetworkPolicy> network() const;
};

}  // namespace cloche::cli
