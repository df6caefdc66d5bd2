// Glob patterns against paths, without a disk.
#include "pattern/glob_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "pattern/glob_braces.hpp"
#include "support/result_matchers.hpp"

namespace cloche {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;

using ::testing::ElementsAre;

bool matches(std::string_view pattern, std::string_view path, Hidden hidden = Hidden::skip) {
  const auto compiled = GlobPattern::compile(pattern, hidden);
  EXPECT_THAT(compiled, Succeeds()) << pattern;
  return compiled && compiled->matches(path);
}

TEST(GlobPattern, Names_MatchWithinOneComponent) {
  EXPECT_TRUE(matches("*.txt", "a.txt"));
  EXPECT_FALSE(matches("*.txt", "d/a.txt"));
  EXPECT_TRUE(matches("d/*.txt", "d/a.txt"));
  EXPECT_TRUE(matches("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(matches("a*b*c", "aXbYbZ"));
  EXPECT_TRUE(matches("*", "anything"));
  EXPECT_TRUE(matches("a?c", "abc"));
  EXPECT_FALSE(matches("a?c", "ac"));
  EXPECT_FALSE(matches("abc", "abcd"));
  EXPECT_FALSE(matches("abcd", "abc"));
  EXPECT_TRUE(matches("a**c", "abbc"));
  EXPECT_TRUE(matches("./a//b", "a/b"));
}

TEST(GlobPattern, Sets_MatchOneCharacter) {
  EXPECT_TRUE(matches("[abc]x", "bx"));
  EXPECT_TRUE(matches("[a-f0-9]", "7"));
  EXPECT_FALSE(matches("[a-f]", "g"));
  EXPECT_TRUE(matches("[!a-f]", "g"));
  EXPECT_FALSE(matches("[^a-f]", "b"));
  EXPECT_TRUE(matches("[]]", "]"));
  EXPECT_TRUE(matches("[!]]", "x"));
  EXPECT_TRUE(matches("[a-]", "-"));
  EXPECT_TRUE(matches("[\\]]", "]"));
  EXPECT_TRUE(matches("[a", "[a"));
  EXPECT_TRUE(matches("x[", "x["));
}

TEST(GlobPattern, Characters_AreUtf8OrBytes) {
  EXPECT_TRUE(matches("?", "é"));
  EXPECT_TRUE(matches("??", "日本"));
  EXPECT_FALSE(matches("?", "日本"));
  EXPECT_TRUE(matches("[à-ü]", "é"));
  EXPECT_TRUE(matches("?", "\xff"));
  EXPECT_TRUE(matches("??", "\xff\xfe"));
  EXPECT_TRUE(matches("*\xff*",
                      "a\xff"
                      "b"));
  EXPECT_TRUE(matches("[!a]", "\xff"));
}

TEST(GlobPattern, Escapes_TakeMeaningAway) {
  EXPECT_TRUE(matches("\\*", "*"));
  EXPECT_FALSE(matches("\\*", "a"));
  EXPECT_TRUE(matches("\\{a,b\\}", "{a,b}"));
  EXPECT_TRUE(matches("{a\\,b,c}", "a,b"));
  EXPECT_THAT(GlobPattern::compile("a\\", Hidden::skip), FailsWith(ErrorCode::invalid_argument));
}

TEST(GlobPattern, TwoStars_MatchAnyDepth) {
  for (const char* path : {"a.py", "x/a.py", "x/y/z/a.py"}) EXPECT_TRUE(matches("**/*.py", path)) << path;
  for (const char* path : {"src/a", "src/x/a", "src/x/y/a"}) EXPECT_TRUE(matches("src/**/a", path)) << path;
  EXPECT_FALSE(matches("src/**/a", "src/x/b"));
  EXPECT_TRUE(matches("**", "a/b/c"));
  EXPECT_TRUE(matches("src/**", "src/a/b"));
  EXPECT_FALSE(matches("src/**", "src"));
  EXPECT_TRUE(matches("**/a/**/b", "x/a/y/a/z/b"));
  EXPECT_TRUE(matches("**/**/b", "b"));
  EXPECT_TRUE(matches("a/**/**/b/**", "a/b/c"));
}

TEST(GlobPattern, HiddenNames_NeedADotOrTheFlag) {
  EXPECT_FALSE(matches("*", ".git"));
  EXPECT_FALSE(matches("?git", ".git"));
  EXPECT_FALSE(matches("[.]git", ".git"));
  EXPECT_TRUE(matches(".*", ".git"));
  EXPECT_TRUE(matches("\\.g*", ".git"));
  EXPECT_FALSE(matches("**/config", ".git/config"));
  EXPECT_TRUE(matches(".git/**", ".git/config"));
  EXPECT_TRUE(matches("**/config", ".git/config", Hidden::match));
  EXPECT_TRUE(matches("*", ".git", Hidden::match));
}

TEST(GlobPattern, Braces_AreAlternatives) {
  EXPECT_TRUE(matches("*.{c,h}", "a.h"));
  EXPECT_TRUE(matches("{src,test}/**/*.{cc,{h,hpp}}", "test/x/a.hpp"));
  EXPECT_FALSE(matches("{src,test}/*.c", "lib/a.c"));
  EXPECT_TRUE(matches("{a/b,c}/d", "a/b/d"));
  EXPECT_TRUE(matches("a{,b}", "a"));
  EXPECT_TRUE(matches("a,b", "a,b"));
  EXPECT_TRUE(matches("x{a}y", "xay"));
  EXPECT_FALSE(matches("{,}", "a"));
  EXPECT_THAT(expand_braces("{a,b{1,2}}c").value(), ElementsAre("ac", "b1c", "b2c"));
}

TEST(GlobPattern, BadPattern_IsRefused) {
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += '{';
  const std::string doubling = "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}";
  for (const std::string& pattern :
       {std::string(), std::string("/a"), std::string("../a"), std::string("a/../b"), std::string("{a,/b}"),
        std::string("{a"), std::string("a}"), std::string("{a,{b}"), std::string("a\0b", 3), nested,
        doubling + doubling, doubling, std::string(20'000, 'a'), std::string("[[:alpha:]]"),
        "{" + std::string(1500, ',') + "}", std::string(5000, 'x') + "{1,2,3,4,5,6,7,8,9}{1,2,3,4,5,6,7,8,9}",
        std::string("{.,a}./x")}) {
    EXPECT_THAT(GlobPattern::compile(pattern, Hidden::skip), FailsWith(ErrorCode::invalid_argument))
        << pattern.substr(0, 50);
  }
}

TEST(GlobPattern, HostilePattern_TakesLittleTime) {
  const auto start = std::chrono::steady_clock::now();
  std::string stars;
  for (int i = 0; i < 500; ++i) stars += "a*";
  EXPECT_FALSE(matches(stars + "b", std::string(20'000, 'a')));
  std::string depths;
  for (int i = 0; i < 500; ++i) depths += "**/a/";
  std::string path;
  for (int i = 0; i < 1500; ++i) path += "a/";
  EXPECT_FALSE(matches(depths + "b", path + "c"));
  EXPECT_FALSE(matches(std::string(16'000, '['), "x"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(GlobPattern, SlashAtTheEnd_MeansDirectories) {
  const auto pattern = GlobPattern::compile("d*/", Hidden::skip).value();
  const auto states = pattern.step(pattern.start(), "dir");
  EXPECT_TRUE(pattern.accepts(states, GlobPattern::Is::directory));
  EXPECT_FALSE(pattern.accepts(states, GlobPattern::Is::other));
}

TEST(GlobPattern, GoesOn_OnlyWhereSomethingCouldMatch) {
  const auto pattern = GlobPattern::compile("src/*.c", Hidden::skip).value();
  EXPECT_TRUE(pattern.goes_on(pattern.step(pattern.start(), "src")));
  EXPECT_FALSE(pattern.goes_on(pattern.step(pattern.start(), "lib")));
  EXPECT_FALSE(pattern.goes_on(pattern.step(pattern.step(pattern.start(), "src"), "a.c")));
}

}  // namespace
}  // namespace cloche
