// Networks in JSON, and in the record of a session.
#include "session/network_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "session/record_file.hpp"

namespace cloche::session {
namespace {

using ::testing::HasSubstr;

Result<NetworkPolicy> read(std::string_view text) { return read_network(boost::json::parse(text), "network"); }

TEST(NetworkJson, Words_AreModes) {
  EXPECT_EQ(read(R"("none")")->mode, Network::none);
  EXPECT_EQ(read(R"("allow-list")")->mode, Network::allow_list);
  EXPECT_EQ(read(R"("internet")")->mode, Network::internet);
}

TEST(NetworkJson, Object_IsAnAllowListUnlessItSaysOtherwise) {
  const auto network = read(R"({"rules": ["a"], "allow": ["b.net"], "deny": ["c.net"]})");
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(*network,
            (NetworkPolicy{.mode = Network::allow_list, .rules = {"a"}, .allow = {"b.net"}, .deny = {"c.net"}}));
  EXPECT_EQ(read(R"({"mode": "internet"})")->mode, Network::internet);
}

TEST(NetworkJson, OtherForms_AreRejected) {
  for (const char* text : {"7", "[]", "null", R"("host")", R"({"mode": "host"})", R"({"mode": 1})", R"({"rules": "a"})",
                           R"({"allow": [1]})", R"({"alow": []})", R"({"mode": "none", "allow": ["a.net"]})"}) {
    const auto network = read(text);
    ASSERT_FALSE(network) << text;
    EXPECT_EQ(network.error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(NetworkJson, WrittenNetwork_IsReadBackTheSame) {
  const NetworkPolicy network{.mode = Network::internet, .rules = {"a"}, .allow = {}, .deny = {"b.net", "c.net:80"}};
  EXPECT_EQ(read(boost::json::serialize(to_json(network))).value(), network);
  EXPECT_EQ(read(boost::json::serialize(to_json({}))).value(), NetworkPolicy());
}

TEST(SessionRecord, Network_IsKept) {
  SessionOptions options;
  options.profile = "session";
  EXPECT_FALSE(read_options(write_options(options))->network);
  options.network = NetworkPolicy{.mode = Network::allow_list, .rules = {"a"}, .allow = {"b.net"}, .deny = {}};
  EXPECT_EQ(read_options(write_options(options))->network, options.network);
  options.network = NetworkPolicy();
  EXPECT_EQ(read_options(write_options(options))->network, NetworkPolicy());
}

TEST(SessionRecord, RecordWithoutNetwork_IsOfAnEarlierVersion) {
  const auto options = read_options(R"({"profile": "session", "env": {}, "secrets": []})");
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_FALSE(options->network);
}

TEST(SessionRecord, NetworkThatCannotBeRead_IsAnError) {
  EXPECT_FALSE(read_options(R"({"profile": "session", "env": {}, "secrets": [], "network": {"mode": "host"}})"));
}

}  // namespace
}  // namespace cloche::session
