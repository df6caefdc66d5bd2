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

TEST(SessionBodies, MetadataAndTimeout_AreReadFromANewSession) {
  const auto plain = read_new_session(json::parse(R"({"session_id": "s"})"));
  EXPECT_FALSE(plain->options.expires);
  EXPECT_EQ(plain->options.on_expiry, session::OnExpiry::end);
  const auto before = std::chrono::system_clock::now();
  const auto wanted = read_new_session(
      json::parse(R"({"session_id": "s", "metadata": {"a": "1"}, "timeout": 60.5, "on_timeout": "pause"})"));
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(wanted->options.metadata, (session::Notes{{"a", "1"}}));
  EXPECT_EQ(wanted->options.on_expiry, session::OnExpiry::pause);
  EXPECT_GE(*wanted->options.expires, before + std::chrono::milliseconds(60500));
  for (const char* wrong :
       {R"("metadata": [])", R"("metadata": {"a": 1})", R"("timeout": 0)", R"("timeout": -1)", R"("timeout": "1")",
        R"("timeout": 1e12)", R"("on_timeout": "kill")", R"("on_timeout": 1)"}) {
    EXPECT_FALSE(read_new_session(json::parse(R"({"session_id": "s", )" + std::string(wrong) + "}"))) << wrong;
  }
}

TEST(SessionBodies, BodyOfATimeout_HasSecondsOrNone) {
  EXPECT_EQ((*read_timeout_body(json::parse(R"({"timeout": 1.5})"))), std::chrono::milliseconds(1500));
  EXPECT_EQ((*read_timeout_body(json::parse(R"({"timeout": null})"))), std::nullopt);
  EXPECT_FALSE(read_timeout_body(json::parse(R"({"timeout": 0})")));
  EXPECT_FALSE(read_timeout_body(json::parse(R"({"timeout": 1, "on_timeout": "end"})")));
}

TEST(SessionFilter, StatesAndMetadata_AreAllAsked) {
  const auto filter_of = [](const char* query) { return read_session_filter(*http::parse_query(query)); };
  session::SessionInfo info;
  info.state = session::SessionState::paused;
  info.metadata = {{"user", "1"}, {"a.b", "x y"}};
  for (const char* fits : {"", "tenant_id=t", "state=paused", "state=live&state=paused", "metadata.user=1",
                           "metadata.user=1&metadata.a.b=x+y&state=paused"}) {
    EXPECT_TRUE(filter_of(fits)->accepts(info)) << fits;
  }
  for (const char* other : {"state=live", "metadata.user=2", "metadata.user=", "metadata.none=1", "metadata.=1",
                            "metadata.user=1&metadata.a.b=y", "metadata.user=1&state=lost"}) {
    EXPECT_FALSE(filter_of(other)->accepts(info)) << other;
  }
  EXPECT_FALSE(filter_of("state=asleep"));
}

TEST(SessionBodies, BodyOfAChange_HasANetworkOrTheProfiles) {
  EXPECT_EQ((*read_network_body(json::parse(R"({"network": "internet"})")))->mode, Network::internet);
  EXPECT_EQ((*read_network_body(json::parse(R"({"network": null})"))), std::nullopt);
  EXPECT_FALSE(read_network_body(json::parse(R"({"network": "none", "rules": []})")));
  EXPECT_FALSE(read_network_body(json::parse(R"("none")")));
}

}  // namespace
}  // namespace cloche::api
