#include "runner/judge/checkers.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "runner/judge/excerpt.hpp"

namespace cloche::runner {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr Tolerance close{.absolute = 1e-6, .relative = 1e-6};

TEST(CompareExactly, SameBytes_AreRightAndNothingElse) {
  EXPECT_TRUE(compare_exactly("a\n", "a\n").right);
  EXPECT_TRUE(compare_exactly("", "").right);
  EXPECT_TRUE(compare_exactly(std::string_view("\0\xff", 2), std::string_view("\0\xff", 2)).right);
  for (const auto& [expected, got] : {std::pair{"a\n", "a"}, {"a", "a\n"}, {"a", "b"}, {"", "x"}, {"x", ""}}) {
    EXPECT_FALSE(compare_exactly(expected, got).right);
  }
}

TEST(CompareExactly, Difference_NamesTheLine) {
  EXPECT_EQ(compare_exactly("1\n2\n3\n", "1\n2\n4\n").reason, "line 3: expected `3\\x0a`, got `4\\x0a`");
  EXPECT_THAT(compare_exactly("1\n2\n", "1\n").reason, HasSubstr("line 2: expected `2\\x0a`, but the output ends"));
  EXPECT_THAT(compare_exactly("1\n", "1\n\n").reason, HasSubstr("line 2: expected the end of the output, got"));
}

TEST(CompareTrimmed, TrailingWhiteSpace_DoesNotMatter) {
  EXPECT_TRUE(compare_trimmed("a\nb\n", "a  \r\nb\t").right);
  EXPECT_TRUE(compare_trimmed("a", "a\n\n \n\t\n").right);
  EXPECT_TRUE(compare_trimmed("", "\n\n").right);
  EXPECT_TRUE(compare_trimmed("a\r\nb\r\n", "a\nb\n").right);
  EXPECT_THAT(compare_trimmed("a", "a").reason, IsEmpty());
}

TEST(CompareTrimmed, WhiteSpaceElsewhere_Matters) {
  EXPECT_FALSE(compare_trimmed("a b", "a  b").right);
  EXPECT_FALSE(compare_trimmed("a", " a").right);
  EXPECT_FALSE(compare_trimmed("a\nb", "a\n\nb").right);
  EXPECT_FALSE(compare_trimmed("a", "\na").right);
}

TEST(CompareTrimmed, Difference_NamesLineExpectedAndGot) {
  EXPECT_EQ(compare_trimmed("1\n2\n", "1\n3\n").reason, "line 2: expected `2`, got `3`");
  EXPECT_EQ(compare_trimmed("1\n2\n", "1\n").reason, "line 2: expected `2`, but the output ends there");
  EXPECT_EQ(compare_trimmed("1\n", "1\n2").reason, "line 2: expected the end of the output, got `2`");
  EXPECT_EQ(compare_trimmed("1", "").reason, "line 1: expected `1`, but the output ends there");
}

TEST(CompareTokens, SpacingAndLines_DoNotMatter) {
  EXPECT_TRUE(compare_tokens("1 2\n3", "  1\n2\t3\n").right);
  EXPECT_FALSE(compare_tokens("1 2", "12").right);
  EXPECT_FALSE(compare_tokens("1.0", "1.00").right);
  EXPECT_EQ(compare_tokens("1 2 3", "1\n2\n4").reason, "line 3: expected `3`, got `4`");
  EXPECT_FALSE(compare_tokens("1 2", "1 2 3").right);
  EXPECT_FALSE(compare_tokens("1 2 3", "1 2").right);
}

TEST(CompareNumbers, WithinTolerance_IsRight) {
  EXPECT_TRUE(compare_numbers("3.14159265", "3.1415927", close).right);
  EXPECT_TRUE(compare_numbers("1000000000", "1000000500", close).right);
  EXPECT_TRUE(compare_numbers("0", "0.0000005", close).right);
  EXPECT_TRUE(compare_numbers("-0", "+0.0", close).right);
  EXPECT_TRUE(compare_numbers("1e3 x", "1000.0 x", close).right);
  EXPECT_FALSE(compare_numbers("1", "1.1", close).right);
  EXPECT_FALSE(compare_numbers("0", "0.00001", close).right);
  EXPECT_FALSE(compare_numbers("1", "-1", close).right);
}

TEST(CompareNumbers, WordsThatAreNoNumbers_MustBeTheSame) {
  EXPECT_TRUE(compare_numbers("case 1: yes", "case 1: yes", close).right);
  EXPECT_FALSE(compare_numbers("yes", "no", close).right);
  EXPECT_FALSE(compare_numbers("1", "1x", close).right);
  EXPECT_FALSE(compare_numbers("1", "--1", close).right);
  EXPECT_FALSE(compare_numbers("1", "+-1", close).right);
  EXPECT_FALSE(compare_numbers("16", "0x10", close).right);
  EXPECT_FALSE(compare_numbers("1", "1,0", close).right);
}

TEST(CompareNumbers, NotANumberAndInfinity_AreNearThemselvesOnly) {
  EXPECT_TRUE(compare_numbers("nan", "NaN", close).right);
  EXPECT_FALSE(compare_numbers("nan", "0", close).right);
  EXPECT_FALSE(compare_numbers("0", "nan", close).right);
  EXPECT_TRUE(compare_numbers("inf", "Infinity", close).right);
  EXPECT_FALSE(compare_numbers("inf", "-inf", close).right);
  EXPECT_FALSE(compare_numbers("inf", "1e308", close).right);
  EXPECT_FALSE(compare_numbers("1e308", "-1e308", close).right);
  const Tolerance any{.absolute = std::numeric_limits<double>::infinity(), .relative = 0};
  EXPECT_FALSE(compare_numbers("1", "nan", any).right);
}

TEST(CompareNumbers, BeyondADouble_IsInfiniteOrZero) {
  EXPECT_TRUE(compare_numbers("0", "1e-999", close).right);
  EXPECT_TRUE(compare_numbers("0", "0." + std::string(400, '0') + "1", close).right);
  EXPECT_FALSE(compare_numbers("0", "1e999", close).right);
  EXPECT_FALSE(compare_numbers("0", "1" + std::string(400, '0'), close).right);
  EXPECT_FALSE(compare_numbers("0", "1" + std::string(400, '0') + "e-20", close).right);
  EXPECT_TRUE(compare_numbers("-1e999", "-1e998", close).right);
  EXPECT_FALSE(compare_numbers("0", "1e99999999999999999999", close).right);
}

TEST(Compare, TakesTheCheckersKind) {
  Checker checker;
  EXPECT_TRUE(compare(checker, "a\n", "a").right);
  checker.kind = Checker::Kind::exact;
  EXPECT_FALSE(compare(checker, "a\n", "a").right);
  checker.kind = Checker::Kind::numbers;
  EXPECT_TRUE(compare(checker, "1.0", "1").right);
  checker.kind = Checker::Kind::tokens;
  EXPECT_FALSE(compare(checker, "1.0", "1").right);
}

TEST(Excerpt, AnyBytes_BecomeOneBoundedLineOfUtf8) {
  EXPECT_EQ(excerpt("caf\xc3\xa9"), "`caf\xc3\xa9`");
  EXPECT_EQ(excerpt("a\nb\x7f\xff\xc3"), "`a\\x0ab\\x7f\\xff\\xc3`");
  EXPECT_EQ(excerpt("\xed\xa0\x80"), "`\\xed\\xa0\\x80`");
  EXPECT_EQ(excerpt("abcdef", 3), "`abc…`");
  EXPECT_EQ(excerpt("\xe2\x82\xac\xe2\x82\xac", 4), "`\xe2\x82\xac…`");
  EXPECT_LT(compare_exactly(std::string(1000, 'a'), std::string(1000, '\n')).reason.size(), 250u);
}

TEST(Readable, LinesStay_AndTheRestIsEscaped) {
  EXPECT_EQ(readable("a\n\tb\x01", 100), "a\n\tb\\x01");
  EXPECT_EQ(readable("abc", 2), "ab…");
}

}  // namespace
}  // namespace cloche::runner
