// A test that cannot run here says so, is counted, and is skipped.
#pragma once

#include <string>

namespace cloche::testing_support {

// Appends to the file named in CLOCHE_MISSING_LOG: which thing is missing, for which test, and why.
void note_missing(const std::string& thing, const std::string& why);

// What a target does not have by its nature; such skips are counted apart.
inline constexpr const char* by_design = "(by design)";

}  // namespace cloche::testing_support

// In a test's body: what is missing, and why the test cannot run without it.
#define CLOCHE_CANNOT_TEST(thing, why)                     \
  do {                                                     \
    cloche::testing_support::note_missing((thing), (why)); \
    GTEST_SKIP() << (thing) << ": " << (why);              \
  } while (false)
// In a test's body: the case makes no sense on this target.
#define CLOCHE_DOES_NOT_APPLY(why) CLOCHE_CANNOT_TEST(cloche::testing_support::by_design, (why))
