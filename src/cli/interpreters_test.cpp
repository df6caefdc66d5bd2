#include "cli/interpreters.hpp"

#include <gtest/gtest.h>

namespace cloche::cli {
namespace {

TEST(FindInterpreter, ByExtension_FindsIt) { EXPECT_EQ(find_interpreter("", "a/b.py").value().program, "python3"); }

TEST(FindInterpreter, ByNameWhateverItsCase_FindsIt) {
  EXPECT_EQ(find_interpreter("JavaScript", "x").value().program, "node");
}

TEST(FindInterpreter, NameOverExtension_NameWins) {
  EXPECT_EQ(find_interpreter("bash", "x.py").value().program, "bash");
}

TEST(FindInterpreter, Unknown_ListsWhatThereIs) {
  for (const auto& [language, file] : {std::pair{"cobol", "x"}, {"", "x.cob"}}) {
    const auto found = find_interpreter(language, file);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(found.error().message.find("python"), std::string::npos);
  }
}

}  // namespace
}  // namespace cloche::cli
