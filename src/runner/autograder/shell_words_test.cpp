#include "runner/autograder/shell_words.hpp"

#include <gmock/gmock.h>

namespace cloche::runner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> words(std::string_view line) {
  auto split = split_words(line);
  EXPECT_TRUE(split) << line;
  return split.value_or(std::vector<std::string>());
}

TEST(ShellWords, PlainWords_AreSplitAtWhiteSpace) {
  EXPECT_THAT(words("  python3\tmain.py \n 5 "), ElementsAre("python3", "main.py", "5"));
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words(" \t\n"), IsEmpty());
}

TEST(ShellWords, Quotes_KeepSpacesAndJoinWithTheirNeighbours) {
  EXPECT_THAT(words("a 'b c' \"d e\""), ElementsAre("a", "b c", "d e"));
  EXPECT_THAT(words("x'y z'w\"q\"r"), ElementsAre("xy zwqr"));
  EXPECT_THAT(words("'' \"\" a"), ElementsAre("", "", "a"));
}

TEST(ShellWords, Backslashes_FollowTheQuotesTheyAreIn) {
  EXPECT_THAT(words(R"(a\ b \' \\)"), ElementsAre("a b", "'", "\\"));
  EXPECT_THAT(words(R"('a\n\')"), ElementsAre(R"(a\n\)"));
  EXPECT_THAT(words(R"("a\n \" \\ \$ \`")"), ElementsAre(R"(a\n " \ $ `)"));
  EXPECT_THAT(words("a\\\nb \"c\\\nd\""), ElementsAre("ab", "cd"));
}

TEST(ShellWords, WhatOnlyAShellKnows_IsPlainText) {
  EXPECT_THAT(words("echo $HOME *.c a;b && c | d > e # f"),
              ElementsAre("echo", "$HOME", "*.c", "a;b", "&&", "c", "|", "d", ">", "e", "#", "f"));
}

TEST(ShellWords, BytesOfAnyKind_AreKept) {
  const std::string odd("caf\xc3\xa9 \xff\x01", 8);
  EXPECT_THAT(words(odd), ElementsAre("caf\xc3\xa9", "\xff\x01"));
}

TEST(ShellWords, UnbalancedLine_GoesToAShellWhole) {
  for (const std::string line : {"echo 'a", "echo \"a", "echo a\\", "\"\\\""}) {
    EXPECT_FALSE(split_words(line)) << line;
    EXPECT_THAT(command_argv(line), ElementsAre("/bin/sh", "-c", line));
  }
  EXPECT_THAT(command_argv("ls -l"), ElementsAre("ls", "-l"));
}

}  // namespace
}  // namespace cloche::runner
