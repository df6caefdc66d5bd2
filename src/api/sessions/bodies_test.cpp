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

TEST(SessionBodies, Volumes_AreReadFromANewSession) {
  const auto wanted = read_new_session(json::parse(
      R"({"session_id": "s", "volumes": [{"name": "a"}, {"name": "b", "target": "/x", "access": "read_only"}]})"));
  ASSERT_TRUE(wanted) << wanted.error().message;
  ASSERT_EQ(wanted->options.volumes.size(), 2U);
  EXPECT_EQ(wanted->options.volumes[0], (VolumeMount{"", "a", "", Access::read_write}));
  EXPECT_EQ(wanted->options.volumes[1], (VolumeMount{"", "b", "/x", Access::read_only}));
  for (const char* wrong :
       {R"("a")", R"(["a"])", R"([{}])", R"([{"name": ".."}])", R"([{"name": "a", "access": "rw"}])",
        R"([{"name": "a", "tenant": "b"}])", R"([{"name": "a", "target": 1}])"}) {
    EXPECT_FALSE(read_new_session(json::parse(R"({"session_id": "s", "volumes": )" + std::string(wrong) + "}")))
        << wrong;
  }
}

TEST(SessionBodies, BodyOfAChange_HasANetworkOrTheProfiles) {
  EXPECT_EQ((*read_network_body(json::parse(R"({"network": "internet"})")))->mode, Network::internet);
  EXPECT_EQ((*read_network_body(json::parse(R"({"network": null})"))), std::nullopt);
  EXPECT_FALSE(read_network_body(json::parse(R"({"network": "none", "rules": []})")));
  EXPECT_FALSE(read_network_body(json::parse(R"("none")")));
}

}  // namespace
}  // namespace cloche::api
