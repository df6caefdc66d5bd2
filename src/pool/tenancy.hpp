// Tenancy: what a manager knows about those who claim from it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "auth/access_table.hpp"

namespace cloche::pool {

struct Tenancy {
  auth::AccessTable access;
  // A name to the profiles that it would stand for if its own profile was not there. They serve the tenants that may
  // not use that one, so that a closed profile cannot be told from a missing one.
  std::map<std::string, std::vector<std::string>> fallbacks;

  // For a program that embeds the library: its own claims are trusted.
  static Tenancy of_trusted_callers() { return {auth::AccessTable::of_trusted_callers(), {}}; }
};

}  // namespace cloche::pool
