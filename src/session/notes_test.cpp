#include "session/notes.hpp"

#include <gtest/gtest.h>

namespace cloche::session {
namespace {

TEST(Notes, UpToTheLimits_AreAccepted) {
  Notes notes;
  for (int i = 0; i < 63; ++i) notes[std::to_string(i)] = "";
  notes[std::string(128, 'k')] = std::string(1024, 'v');
  EXPECT_TRUE(check_metadata(notes));
  EXPECT_TRUE(check_metadata({}));
  EXPECT_TRUE(check_metadata({{"ключ", "значение"}}));
  EXPECT_TRUE(check_attributes({{"e2b.template", std::string(16 * 1024, 'v')}}));
}

TEST(Notes, BeyondTheLimits_AreRejected) {
  Notes many;
  for (int i = 0; i < 65; ++i) many[std::to_string(i)] = "";
  for (const Notes& wrong : {many, Notes{{"", "v"}}, Notes{{std::string(129, 'k'), "v"}},
                             Notes{{"k", std::string(1025, 'v')}}, Notes{{"\xff", "v"}}, Notes{{"k", "\xc3"}}}) {
    const auto checked = check_metadata(wrong);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(check_attributes({{"k", std::string(16 * 1024 + 1, 'v')}}));
}

TEST(Notes, Search_WantsAllPairs) {
  const Notes notes = {{"a", "1"}, {"b", ""}};
  EXPECT_TRUE(has_all(notes, {}));
  EXPECT_TRUE(has_all(notes, {{"a", "1"}, {"b", ""}}));
  EXPECT_FALSE(has_all(notes, {{"a", "2"}}));
  EXPECT_FALSE(has_all(notes, {{"a", "1"}, {"c", ""}}));
}

}  // namespace
}  // namespace cloche::session
