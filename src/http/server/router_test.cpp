#include "http/server/router.hpp"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

Target at(std::string_view path) { return *parse_target(path); }

TEST(Router, NamesInBraces_StandForOneSegmentEach) {
  Router<int> router;
  router.add("DELETE", "/sessions/{tenant}/{session}", 1);
  router.add("GET", "/sessions", 2);
  const auto match = router.match("DELETE", at("/sessions/acme/a%20b"));
  ASSERT_TRUE(match.found);
  EXPECT_EQ(*match.found, 1);
  EXPECT_EQ(*match.pattern, "/sessions/{tenant}/{session}");
  EXPECT_EQ(match.parameters["tenant"], "acme");
  EXPECT_EQ(match.parameters["session"], "a b");
  EXPECT_EQ(match.parameters["other"], "");
  EXPECT_EQ(*router.match("GET", at("/sessions")).found, 2);
}

TEST(Router, PathNobodyHas_IsNotFound) {
  Router<int> router;
  router.add("GET", "/a/{b}", 1);
  for (const char* path : {"/", "/a", "/a/", "/a/b/c", "/a/b/", "/b/a", "//a/b", "/a/b%2Fc", "/A/b"}) {
    const auto match = router.match("GET", at(path));
    EXPECT_FALSE(match.found) << path;
    EXPECT_EQ(match.allowed, "") << path;
  }
  EXPECT_FALSE(router.match("OPTIONS", at("*")).found);
}

TEST(Router, MethodThePathHasNot_IsToldWhichItHas) {
  Router<int> router;
  router.add("GET", "/a", 1);
  router.add("POST", "/a", 2);
  router.add("DELETE", "/{any}", 3);
  const auto match = router.match("PUT", at("/a"));
  EXPECT_FALSE(match.found);
  EXPECT_EQ(match.allowed, "DELETE, GET, HEAD, POST");
}

TEST(Router, Head_IsServedByGet) {
  Router<int> router;
  router.add("GET", "/a", 1);
  EXPECT_EQ(*router.match("HEAD", at("/a")).found, 1);
}

TEST(Router, MoreLiteralPattern_Wins) {
  Router<int> router;
  router.add("GET", "/{rest...}", 1);
  router.add("GET", "/a/{x}", 2);
  router.add("GET", "/a/list", 3);
  router.add("GET", "/{x}/list", 4);
  EXPECT_EQ(*router.match("GET", at("/a/list")).found, 3);
  EXPECT_EQ(*router.match("GET", at("/a/b")).found, 2);
  EXPECT_EQ(*router.match("GET", at("/b/list")).found, 4);
  EXPECT_EQ(*router.match("GET", at("/b/c")).found, 1);
  EXPECT_EQ(*router.match("GET", at("/")).found, 1);
}

TEST(Router, Rest_IsGivenAsItCame) {
  Router<int> router;
  router.add("GET", "/proxy/{port}/{rest...}", 1);
  const auto rest = [&](std::string_view path) {
    return std::string(router.match("GET", at(path)).parameters["rest"]);
  };
  EXPECT_EQ(rest("/proxy/80/a%2Fb//c/"), "a%2Fb//c/");
  EXPECT_EQ(rest("/proxy/80/"), "");
  EXPECT_FALSE(router.match("GET", at("/proxy/80")).found);
}

TEST(Router, Mounted_ServesBelowThePrefix) {
  Router<int> inner;
  inner.add("POST", "/execute", 1);
  Router<int> outer;
  outer.mount("", inner);
  outer.mount("/v1/sandbox", inner);
  EXPECT_EQ(*outer.match("POST", at("/execute")).found, 1);
  EXPECT_EQ(*outer.match("POST", at("/v1/sandbox/execute")).found, 1);
  EXPECT_FALSE(outer.match("POST", at("/v1/execute")).found);
}

TEST(Router, MistakesOfItsProgrammer_AreThrown) {
  Router<int> router;
  router.add("GET", "/a/{x}", 1);
  EXPECT_THROW(router.add("GET", "/a/{x}", 2), std::logic_error);
  EXPECT_THROW(router.add("POST", "/a/{y}", 2), std::logic_error);
  for (const char* pattern : {"", "a", "/{}", "/{a", "/a}", "/{a...}/b", "/{...}", "/{a}b"}) {
    EXPECT_THROW(router.add("GET", pattern, 1), std::logic_error) << pattern;
  }
}

}  // namespace
}  // namespace cloche::http
