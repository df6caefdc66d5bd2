#include "auth/jwt/jwt.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "auth/testing/jwt_maker.hpp"
#include "core/base64.hpp"

namespace cloche::auth {
namespace {

using testing::signed_part;
using testing::with_signature;

std::string token(std::string_view header, std::string_view claims = "{}", std::string_view signature = "s") {
  return with_signature(signed_part(header, claims), signature);
}

TEST(Jwt, WellFormed_IsTakenApart) {
  const auto jwt = parse_jwt(token(R"({"alg":"ES256","kid":"k1","typ":"at+JWT","x5c":["…"]})", R"({"a":1})", "sig"));
  ASSERT_TRUE(jwt) << jwt.error().message;
  EXPECT_EQ(jwt->algorithm, JwtAlgorithm::es256);
  EXPECT_EQ(jwt->key_id, "k1");
  EXPECT_EQ(jwt->claims, R"({"a":1})");
  EXPECT_EQ(jwt->signature, "sig");
  EXPECT_EQ(jwt->signed_part + "." + encode_base64url("sig"),
            token(R"({"alg":"ES256","kid":"k1","typ":"at+JWT","x5c":["…"]})", R"({"a":1})", "sig"));
}

TEST(Jwt, AnyWritingOfItsType_IsTaken) {
  for (const char* type : {"JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt", "application/jwt"}) {
    EXPECT_TRUE(parse_jwt(token(R"({"alg":"HS256","typ":")" + std::string(type) + "\"}"))) << type;
  }
}

TEST(Jwt, BadHeader_IsRefused) {
  for (const char* header : {"{}",
                             "[]",
                             "null",
                             "x",
                             R"({"alg":"none"})",
                             R"({"alg":"None"})",
                             R"({"alg":"NONE"})",
                             R"({"alg":""})",
                             R"({"alg":null})",
                             R"({"alg":["HS256"]})",
                             R"({"alg":"hs256"})",
                             R"({"alg":"HS384"})",
                             R"({"alg":"HS512"})",
                             R"({"alg":"RS512"})",
                             R"({"alg":"PS256"})",
                             R"({"alg":"ES384"})",
                             R"({"alg":"EdDSA"})",
                             R"({"alg":"HS256 "})",
                             R"({"alg":"HS256","alg":"none"})",
                             R"({"alg":"none","alg":"HS256"})",
                             R"({"alg":"HS256","\u0061lg":"none"})",
                             R"({"alg":"HS256","crit":["exp"]})",
                             R"({"alg":"HS256","crit":[]})",
                             R"({"alg":"HS256","crit":null})",
                             R"({"alg":"HS256","b64":false,"crit":["b64"]})",
                             R"({"alg":"HS256","b64":true})",
                             R"({"alg":"HS256","typ":"logout+jwt"})",
                             R"({"alg":"HS256","typ":"dpop+jwt"})",
                             R"({"alg":"HS256","typ":1})",
                             R"({"alg":"HS256","typ":""})",
                             R"({"alg":"HS256","kid":1})",
                             R"({"alg":"HS256","kid":null})",
                             R"({"alg":"HS256","x":{"x":{"x":{"x":{"x":{"x":{"x":{"x":{}}}}}}}}})",
                             "{\"alg\":\"HS256\"}{}",
                             "\xef\xbb\xbf{\"alg\":\"HS256\"}",
                             "{\"alg\":\"HS256\",\"kid\":\"\xff\"}"}) {
    EXPECT_FALSE(parse_jwt(token(header))) << header;
  }
  EXPECT_TRUE(parse_jwt(token(R"({"alg":"HS256","kid":")" + std::string(256, 'k') + "\"}")));
  EXPECT_FALSE(parse_jwt(token(R"({"alg":"HS256","kid":")" + std::string(257, 'k') + "\"}")));
}

TEST(Jwt, OtherForms_AreRefused) {
  const std::string header = encode_base64url(R"({"alg":"HS256"})");
  const std::string claims = encode_base64url("{}");
  ASSERT_TRUE(parse_jwt(header + "." + claims + ".AAAA"));
  const std::vector<std::string> others = {
      "", ".", "..", "...", header, header + "." + claims, header + "." + claims + ".", header + "..AAAA",
      "." + claims + ".AAAA", header + "." + claims + ".AAAA.", header + "." + claims + ".AAAA.AAAA.AAAA",
      header + "=." + claims + ".AAAA", header + "." + claims + ".AAA=", header + "." + claims + ".AAB",
      header + "." + claims + ".AA+A", header + "." + claims + ".AAAA ", " " + header + "." + claims + ".AAAA",
      header + "." + claims + ".AA\nAA",
      // JSON serialization, a JWE's five parts.
      R"({"payload":"e30","signatures":[]})", "e30.e30.e30.e30.e30"};
  for (const std::string& text : others) EXPECT_FALSE(parse_jwt(text)) << text;
}

TEST(Jwt, LongerThanItsLimit_IsRefused) {
  const std::string head = signed_part(R"({"alg":"HS256"})", "{}") + ".";
  const std::string fits(longest_jwt - head.size() - (longest_jwt - head.size()) % 4, 'A');
  EXPECT_TRUE(parse_jwt(head + fits));
  EXPECT_FALSE(parse_jwt(head + fits + "AAAA"));
  EXPECT_FALSE(parse_jwt(std::string(8'000'000, '.')));
}

}  // namespace
}  // namespace cloche::auth
