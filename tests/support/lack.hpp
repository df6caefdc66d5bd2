// Lack: what a host is missing for a target of tests.
#pragma once

#include <string>

namespace cloche::testing_support {

struct Lack {
  std::string thing;
  std::string why;
};

}  // namespace cloche::testing_support
