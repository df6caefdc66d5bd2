#include "egress/secrets/put_secret.hpp"

#include <gtest/gtest.h>

#include "support/result_matchers.hpp"

namespace cloche::egress {
namespace {

using testing_support::FailsSaying;
using testing_support::FailsWith;
using testing_support::Succeeds;
using Where = SecretUse::Where;

const std::string odd_value = "s3cr3t/+ value";

SecretUse header(std::string name, std::string value = "{secret}") {
  return {.secret = "s", .where = Where::header, .name = std::move(name), .value_template = std::move(value)};
}
SecretUse basic(std::string user) { return {.secret = "s", .where = Where::basic_auth, .name = std::move(user)}; }
SecretUse query(std::string name) { return {.secret = "s", .where = Where::query, .name = std::move(name)}; }

RequestParts request(http::Fields fields, std::string query_text = "") {
  return {.path = "/v1", .query = std::move(query_text), .fields = std::move(fields)};
}

TEST(PutSecret, HeaderTemplate_IsFilledIn) {
  RequestParts parts = request({{"Accept", "*/*"}});
  ASSERT_THAT(put_secret_on(parts, header("Authorization", "Bearer {secret}"), odd_value), Succeeds());
  EXPECT_EQ(parts.fields, (http::Fields{{"Accept", "*/*"}, {"Authorization", "Bearer " + odd_value}}));
  parts = request({});
  ASSERT_THAT(put_secret_on(parts, header("X-Keys", "{secret};{secret}{"), "abcdefgh"), Succeeds());
  EXPECT_EQ(parts.fields, (http::Fields{{"X-Keys", "abcdefgh;abcdefgh{"}}));
}

TEST(PutSecret, SecretThatContainsTheMark_IsNotFilledInAgain) {
  RequestParts parts = request({});
  ASSERT_THAT(put_secret_on(parts, header("X-Key"), "ab{secret}cd"), Succeeds());
  EXPECT_EQ(parts.fields, (http::Fields{{"X-Key", "ab{secret}cd"}}));
}

TEST(PutSecret, HeadersOfTheProgramWithThatName_AreReplaced) {
  RequestParts parts = request({{"x-api-key", "placeholder"}, {"A", "1"}, {"X-API-KEY", "2"}, {"X_Api_Key", "3"}});
  ASSERT_THAT(put_secret_on(parts, header("X-Api-Key"), "abcdefgh"), Succeeds());
  EXPECT_EQ(parts.fields, (http::Fields{{"A", "1"}, {"X-Api-Key", "abcdefgh"}}));
}

TEST(PutSecret, BasicAuth_IsUserAndSecret) {
  RequestParts parts = request({{"authorization", "Bearer mine"}});
  ASSERT_THAT(put_secret_on(parts, basic("user"), "password"), Succeeds());
  EXPECT_EQ(parts.fields, (http::Fields{{"Authorization", "Basic dXNlcjpwYXNzd29yZA=="}}));
}

TEST(PutSecret, QueryParameter_IsAddedEncoded) {
  RequestParts parts = request({}, "a=1");
  ASSERT_THAT(put_secret_on(parts, query("key"), odd_value), Succeeds());
  EXPECT_EQ(parts.target(), "/v1?a=1&key=s3cr3t%2F%2B%20value");
  parts = request({});
  ASSERT_THAT(put_secret_on(parts, query("k y"), "abcdefgh"), Succeeds());
  EXPECT_EQ(parts.target(), "/v1?k%20y=abcdefgh");
}

TEST(PutSecret, QueryParametersOfTheProgramWithThatName_AreReplaced) {
  for (const auto& [sent, kept] : std::vector<std::pair<std::string, std::string>>{
           {"key=mine", ""},
           {"key", ""},
           {"key=", ""},
           {"key=1&key=2", ""},
           {"a=1&key=mine&b=2", "a=1&b=2&"},
           {"a=1&%6bey=mine", "a=1&"},
           {"k%65y=mine&keys=1", "keys=1&"},
           {"a=1;key=mine", "a=1;&"},
           {"key=mine;a=1", "a=1&"},
           {"&&key=x&&", "&&&"},
           {"a=key=b", "a=key=b&"},
           {"KEY=1", "KEY=1&"},
           {"a=x%26key=1", "a=x%26key=1&"},
       }) {
    RequestParts parts = request({}, sent);
    ASSERT_THAT(put_secret_on(parts, query("key"), "abcdefgh"), Succeeds()) << sent;
    EXPECT_EQ(parts.query, kept + "key=abcdefgh") << sent;
  }
}

TEST(PutSecret, QueryThatCannotBeDecoded_IsRefused) {
  for (const char* odd : {"%", "a=%zz", "k%ffy=1", "a=%00"}) {
    RequestParts parts = request({}, odd);
    EXPECT_THAT(put_secret_on(parts, query("key"), "abcdefgh"), FailsWith(ErrorCode::protocol)) << odd;
  }
}

TEST(PutSecret, SecretThatAHeaderCannotContain_IsRefusedWithoutBeingShown) {
  for (const std::string& odd :
       {std::string("abcdefgh\r\nX: y"), std::string("abcdefgh\n"), std::string("abcdefgh\0", 9)}) {
    RequestParts parts = request({{"X-Key", "mine"}});
    const auto status = put_secret_on(parts, header("X-Key"), odd);
    ASSERT_THAT(status, FailsWith(ErrorCode::invalid_argument));
    EXPECT_EQ(status.error().message.find("abcdefgh"), std::string::npos);
  }
  // Base64 and percent-encoding carry any byte.
  RequestParts parts = request({});
  EXPECT_THAT(put_secret_on(parts, basic("u"), "abc\ndefgh"), Succeeds());
  EXPECT_THAT(put_secret_on(parts, query("q"), "abc\ndefgh"), Succeeds());
  EXPECT_EQ(parts.query, "q=abc%0Adefgh");
}

TEST(PutSecret, UseThatCannotWork_IsRefused) {
  EXPECT_THAT(check_secret_use(header("")), FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(check_secret_use(header("X Key")), FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(check_secret_use(header("X-Key", "fixed")), FailsSaying(ErrorCode::invalid_argument, "{secret}"));
  EXPECT_THAT(check_secret_use(header("X-Key", "{secret}\r\nA: b")), FailsWith(ErrorCode::invalid_argument));
  for (const char* reserved : {"Host", "content-length", "Transfer_Encoding", "Connection", "Upgrade"}) {
    EXPECT_THAT(check_secret_use(header(reserved)), FailsWith(ErrorCode::invalid_argument)) << reserved;
  }
  EXPECT_THAT(check_secret_use(basic("a:b")), FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(check_secret_use(basic("")), FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(check_secret_use(query("")), FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(check_secret_use(header("Cookie", "session={secret}")), Succeeds());
}

}  // namespace
}  // namespace cloche::egress
