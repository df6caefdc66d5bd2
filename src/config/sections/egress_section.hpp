// `egress:` of a configuration: rule sets, who may use them, and how connections are carried.
#pragma once

#include "auth/access_table.hpp"
#include "cloche/egress.hpp"
#include "config/environment.hpp"
#include "config/section.hpp"

namespace cloche::config {

struct Egress {
  EgressOptions options;
  auth::AccessTable::Lists rule_sets;  // of those that list some: who may name them
  auth::AccessList choose;             // who may choose a network
  bool holds_secrets = false;          // the section itself has one
};

Egress read_egress(Section& section, const Environment& environment);

}  // namespace cloche::config
