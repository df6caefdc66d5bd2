// Bodies of /sessions.
#include "api/sessions/bodies.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace cloche::api {
namespace {

namespace json = boost::json;

TEST(SessionBodies, Network_IsReadFromANewSession) {
  const auto plain = read_new_session(json::parse(R"({"session_id": "s"})"));
  EXPECT_FALSE(plain->options.network);
  const auto wanted = read_new_session(json::parse(R"({"session_id": "s", "network": {"rules": ["a"]}})"));
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(wanted->options.network->mode, Network::allow_list);
  EXPECT_FALSE(read_new_session(json::parse(R"({"session_id": "s", "network": "host"})")));
}

TEST(SessionBodies, BodyOfAChange_HasANetworkOrTheProfiles) {
  EXPECT_EQ((*read_network_body(json::parse(R"({"network": "internet"})")))->mode, Network::internet);
  EXPECT_EQ((*read_network_body(json::parse(R"({"network": null})"))), std::nullopt);
  EXPECT_FALSE(read_network_body(json::parse(R"({"network": "none", "rules": []})")));
  EXPECT_FALSE(read_network_body(json::parse(R"("none")")));
}

}  // namespace
}  // namespace cloche::api
