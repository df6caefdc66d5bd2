// SandboxKeys: the tokens that the clients of a sandbox have. They are derived from one key of the instance, so nothing
// secret is stored with a sandbox, and they are the same after a restart.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::dialect::e2b {

// Whose tokens they are.
struct KeyHolder {
  std::string_view tenant;
  std::string_view sandbox;
  std::string_view api_key;  // the id of the API key that the sandbox belongs to; empty: none
};

class SandboxKeys {
 public:
  // Reads the key, or makes it: a file of mode 0600. A file that others can read is an error.
  static Result<SandboxKeys> open(const std::string& path);

  // For X-Access-Token and signatures. It changes when the sandbox gets another API key.
  std::string access_token(const KeyHolder& holder) const;
  // For E2b-Traffic-Access-Token.
  std::string traffic_token(const KeyHolder& holder) const;

 private:
  explicit SandboxKeys(std::string key) : key_(std::move(key)) {}
  std::string derive(std::string_view purpose, const KeyHolder& holder) const;

  std::string key_;
};

// Takes the same time whatever differs. False if `expected` is empty.
bool is_same_token(std::string_view given, std::string_view expected);

}  // namespace cloche::dialect::e2b
