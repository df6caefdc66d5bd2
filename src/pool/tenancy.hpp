// Tenancy: what a manager knows about those who claim from it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "auth/access_table.hpp"
#include "pool/outlets.hpp"
#include "volume/volumes.hpp"

namespace cloche::pool {

// Where volumes come from. Without any, a claim that wants one fails.
struct VolumeSource {
  volume::Volumes* volumes = nullptr;  // outlives the manager
  // Volumes that every lease of a profile has, by the profile's name.
  std::map<std::string, std::vector<VolumeMount>> of_profiles;
};

struct Tenancy {
  auth::AccessTable access;
  // Maps a name to the profiles that are used if its own profile does not exist. They serve the tenants that may not
  // use it, so that a closed profile cannot be distinguished from a missing one.
  std::map<std::string, std::vector<std::string>> fallbacks;
  MeterFactory meters;  // of connections to the outside
  VolumeSource volumes;

  // For a program that embeds the library: its own claims are trusted.
  static Tenancy of_trusted_callers() { return {auth::AccessTable::of_trusted_callers(), {}, {}, {}}; }
};

}  // namespace cloche::pool
