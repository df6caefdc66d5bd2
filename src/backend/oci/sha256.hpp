// SHA-256: names images, agents and root skeletons by what they contain.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::oci {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::string_view bytes);
  // The digest as lower-case hexadecimal digits; the object is used up.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_of(std::string_view bytes);
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace cloche::oci
