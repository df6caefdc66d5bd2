// Matchers for a Result: whether it succeeded, or failed with a code and with words in its message.
#pragma once

#include <gmock/gmock.h>

#include <string>

namespace cloche::testing_support {

MATCHER_P(FailsWith, code, "") {
  if (arg.has_value()) {
    *result_listener << "which succeeded";
    return false;
  }
  *result_listener << to_string(arg.error().code) << ": " << arg.error().message;
  return arg.error().code == code;
}
MATCHER_P2(FailsSaying, code, words, "") {
  if (arg.has_value()) {
    *result_listener << "which succeeded";
    return false;
  }
  *result_listener << to_string(arg.error().code) << ": " << arg.error().message;
  return arg.error().code == code && arg.error().message.find(words) != std::string::npos;
}
MATCHER(Succeeds, "") {
  if (!arg.has_value()) *result_listener << to_string(arg.error().code) << ": " << arg.error().message;
  return arg.has_value();
}

}  // namespace cloche::testing_support
