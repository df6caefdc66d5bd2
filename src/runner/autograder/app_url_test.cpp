#include "runner/autograder/app_url.hpp"

#include <gmock/gmock.h>

namespace cloche::runner {
namespace {

TEST(AppTarget, PathsAndUrlsOfThisHost_AreTaken) {
  const auto url = [](std::string_view endpoint) { return parse_app_target(endpoint, 8000).value().url(); };
  EXPECT_EQ(url("/api/x?y=1"), "http://localhost:8000/api/x?y=1");
  EXPECT_EQ(url("api"), "http://localhost:8000/api");
  EXPECT_EQ(url(""), "http://localhost:8000/");
  EXPECT_EQ(url("?a=1"), "http://localhost:8000/?a=1");
  EXPECT_EQ(url("/a#part"), "http://localhost:8000/a");
  EXPECT_EQ(url("http://localhost:5000/x"), "http://localhost:5000/x");
  EXPECT_EQ(url("http://127.0.0.1"), "http://localhost:80/");
}

TEST(AppTarget, OtherHosts_AreRefused) {
  for (const char* endpoint : {"http://example.org/", "https://localhost/", "http://localhost:0/",
                               "http://localhost:x/", "http://localhost:99999/", "http://localhost@evil/"}) {
    EXPECT_FALSE(parse_app_target(endpoint, 8000)) << endpoint;
  }
}

TEST(AppTarget, BytesThatBreakALine_AreEncoded) {
  EXPECT_EQ(parse_app_target("/a b\r\nX: y\xff", 1)->target, "/a%20b%0D%0AX:%20y%FF");
}

TEST(AppTarget, Params_GoIntoTheQuery) {
  AppTarget target = *parse_app_target("/x", 1);
  add_params(target, {});
  EXPECT_EQ(target.target, "/x");
  add_params(target, {{"a b", "c&d=\xc3\xa9"}});
  EXPECT_EQ(target.target, "/x?a+b=c%26d%3D%C3%A9");
  add_params(target, {{"e", ""}});
  EXPECT_EQ(target.target, "/x?a+b=c%26d%3D%C3%A9&e=");
}

}  // namespace
}  // namespace cloche::runner
