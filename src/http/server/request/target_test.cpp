#include "http/server/request/target.hpp"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

using Segments = std::vector<std::string>;

TEST(Target, Paths_BecomeDecodedSegments) {
  EXPECT_EQ(parse_target("/")->segments, (Segments{""}));
  EXPECT_EQ(parse_target("/a/b")->segments, (Segments{"a", "b"}));
  EXPECT_EQ(parse_target("/a//b/")->segments, (Segments{"a", "", "b", ""}));
  EXPECT_EQ(parse_target("/%C3%A4+b/...")->segments, (Segments{"\xc3\xa4+b", "..."}));
  EXPECT_EQ(parse_target("/a%2Fb/c")->segments, (Segments{"a/b", "c"}));
  EXPECT_EQ(parse_target("/a%3Fb?c%3Dd")->query, "c%3Dd");
}

TEST(Target, PathsThatCanMisleadSomebody_AreRefused) {
  for (const char* path : {"/..", "/a/../b", "/a/%2e%2E/b", "/.", "/a/.", "/%00", "/a%", "/a%4", "/a%zz", "/%ff",
                           "/%c0%af", "/%ed%a0%80", "/%f5%80%80%80", "/%c3", "", "a", "?a", "/a\x7f"}) {
    const auto target = parse_target(path);
    ASSERT_FALSE(target) << path;
    EXPECT_EQ(target.error().status, 400u);
  }
}

TEST(Query, Parameters_AreDecodedAndDuplicatesVisible) {
  const auto query = parse_query("a=1&b=two+words&a=%32&c&&d=x=y&%C3%A4=");
  ASSERT_TRUE(query);
  EXPECT_EQ(query->items().size(), 6u);
  EXPECT_EQ(query->find("a"), "1");
  EXPECT_EQ(query->count("a"), 2u);
  EXPECT_EQ(query->find("b"), "two words");
  EXPECT_EQ(query->find("c"), "");
  EXPECT_EQ(query->find("d"), "x=y");
  EXPECT_EQ(query->find("\xc3\xa4"), "");
  EXPECT_EQ(query->find("e"), std::nullopt);
}

TEST(Query, WhatIsNoText_IsRefused) {
  for (const char* text : {"a=%", "a=%0", "a=%00", "%ff=1", "a=%gg"}) EXPECT_FALSE(parse_query(text)) << text;
}

}  // namespace
}  // namespace cloche::http
