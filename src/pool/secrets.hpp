// Secrets: declared by name, known here alone. They reach a program through its environment, over the channel, and are
// in no sandbox's configuration. There are no others than those that the manager was made with: no name is ever looked
// up in the environment of this process.
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

  // Those of a profile: its secrets are for whoever may use the profile.
  Result<Values> of_profile(const std::vector<std::string>& names) const;
  // Those that a claim names itself: each must list the claim's tenant. One that does not is not_found, with the same
  // words as one that is not there.
  Result<Values> of_claim(const std::vector<std::string>& names, const std::string& tenant,
                          const auth::AccessTable& access) const;

 private:
  Values known_;
};

}  // namespace cloche::pool
