// An agent's report of changes is validated, whether it was requested or came with a program's end.
#include <gtest/gtest.h>

#include "sandbox/files.hpp"

namespace cloche {
namespace {

wire::FileReply telling(const std::string& path, std::uint64_t size = 1) {
  wire::FileReply reply;
  reply.done = true;
  reply.entries.push_back({.path = path, .type = FileType::regular, .size = size});
  return reply;
}

TEST(ParseChanges, NamesBelow_AreTaken) {
  const auto told = parse_changes(telling("d/..x/file"), {});
  ASSERT_TRUE(told);
  EXPECT_EQ(told->entries.front().path, "d/..x/file");
  EXPECT_FALSE(told->cut);
}

TEST(ParseChanges, NamesThatLeadOut_AreALie) {
  for (const char* path : {"../x", "/etc/passwd", "d/../../x", "d/.."}) {
    const auto told = parse_changes(telling(path), {});
    ASSERT_FALSE(told) << path;
    EXPECT_EQ(told.error().code, ErrorCode::protocol);
  }
  EXPECT_FALSE(parse_changes(telling(std::string("a\0b", 3)), {}));
}

TEST(ParseChanges, MoreThanAskedFor_IsALie) {
  auto reply = telling("a");
  reply.entries.push_back(reply.entries.front());
  EXPECT_TRUE(parse_changes(reply, {.told = 2}));
  EXPECT_FALSE(parse_changes(reply, {.told = 1}));
}

TEST(ParseChanges, SizeThatNoFileHas_IsALie) { EXPECT_FALSE(parse_changes(telling("a", UINT64_MAX), {})); }

TEST(ParseChanges, WhatWasNotLookedAt_IsACut) {
  auto reply = telling("a");
  reply.skipped = 1;
  EXPECT_TRUE(parse_changes(reply, {})->cut);
}

}  // namespace
}  // namespace cloche
