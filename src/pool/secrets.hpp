// Secrets: declared by name, known only here. They reach a program through its environment, over the channel, and are
// not part of any sandbox's configuration. There are only those that the manager was created with: names are never
// looked up in the environment of this process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "auth/access_table.hpp"
#include "core/result.hpp"

namespace cloche::pool {

class Secrets {
 public:
  using Values = std::map<std::string, std::string>;

  explicit Secrets(Values known) : known_(std::move(known)) {}

  // not_found unless there is a secret of each name.
  Status check(const std::vector<std::string>& names) const;

  // Those of a profile: its secrets are available to all who may use the profile.
  Result<Values> of_profile(const std::vector<std::string>& names) const;
  // Those that a claim names itself: each must list the claim's tenant. Otherwise it is not_found, with the same
  // message as a missing one.
  Result<Values> of_claim(const std::vector<std::string>& names, const std::string& tenant,
                          const auth::AccessTable& access) const;

 private:
  Values known_;
};

}  // namespace cloche::pool
