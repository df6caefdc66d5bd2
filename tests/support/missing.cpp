#include "support/missing.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace cloche::testing_support {

void note_missing(const std::string& thing, const std::string& why) {
  const char* path = std::getenv("CLOCHE_MISSING_LOG");
  if (path == nullptr) return;
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::ofstream(path, std::ios::app) << thing << '\t' << test->test_suite_name() << '.' << test->name() << '\t' << why
                                     << '\n';
}

}  // namespace cloche::testing_support
