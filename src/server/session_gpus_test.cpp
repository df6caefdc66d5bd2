#include "server/session_gpus.hpp"

#include <gmock/gmock.h>

namespace cloche::server {
namespace {

using testing::HasSubstr;
using Origin = SessionProfile;

config::Config read_with(const std::string& text, config::Environment environment) {
  auto config = config::parse_config(text, "cloche.yml", environment);
  EXPECT_TRUE(config) << config.error().message;
  return std::move(*config);
}

constexpr const char* enabled = "SANDBOX_GPU_ENABLED";

TEST(SessionGpus, WithoutTheVariable_NothingChanges) {
  auto config = read_with("profiles: {session: {}}", {});
  ASSERT_TRUE(settle_session_gpus(config, Origin::configured));
  EXPECT_TRUE(config.manager.profiles[0].sandbox.gpus.empty());
}

TEST(SessionGpus, ProfileThatClocheMade_HasOneAndIsForAll) {
  auto config = read_with("profiles: {session: {}}", {{enabled, "true"}});
  ASSERT_TRUE(settle_session_gpus(config, Origin::made));
  EXPECT_EQ(config.manager.profiles[0].sandbox.gpus.count, 1u);
  EXPECT_EQ(config.manager.profiles[0].pool.pool_size, 0u);
  EXPECT_TRUE(config.access.profiles.at("session").is_all());
}

TEST(SessionGpus, ConfiguredProfile_SaysItselfWhoMayUseIt) {
  auto config = read_with("profiles: {session: {gpus: 2}, other: {}}", {{enabled, "true"}});
  ASSERT_TRUE(settle_session_gpus(config, Origin::configured));
  EXPECT_EQ(config.manager.profiles[0].sandbox.gpus.count, 2u);
  EXPECT_TRUE(config.manager.profiles[1].sandbox.gpus.empty());
  EXPECT_FALSE(config.access.profiles.contains("session"));
}

TEST(SessionGpus, Network_NeedsItsOwnVariable) {
  const std::string text = "profiles: {session: {network: internet, tenants: all}}";
  auto config = read_with(text, {{enabled, "true"}});
  const Status refused = settle_session_gpus(config, Origin::configured);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("SANDBOX_GPU_NETWORK_ENABLED"));
  config = read_with(text, {{enabled, "true"}, {"SANDBOX_GPU_NETWORK_ENABLED", "true"}});
  EXPECT_TRUE(settle_session_gpus(config, Origin::configured));
}

}  // namespace
}  // namespace cloche::server
