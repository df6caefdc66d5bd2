// Secrets: declared by name, known here alone. They reach a program through its environment, over the channel, and are
// in no sandbox's configuration.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace cloche::pool {

class Secrets {
 public:
  using Lookup = std::function<std::optional<std::string>(const std::string&)>;

  // What the map does not have is asked of `environment`: this process's own unless told otherwise.
  explicit Secrets(std::map<std::string, std::string> known, Lookup environment = from_environment);

  // not_found names the first that is missing, and what to do.
  Result<std::map<std::string, std::string>> resolve(const std::vector<std::string>& names) const;

  static std::optional<std::string> from_environment(const std::string& name);

 private:
  std::map<std::string, std::string> known_;
  Lookup environment_;
};

}  // namespace cloche::pool
