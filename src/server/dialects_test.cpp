#include "server/dialects.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cloche::server {
namespace {

const Profile* find_base(const config::Config& config) {
  const auto found = std::ranges::find(config.manager.profiles, "base", &Profile::name);
  return found == config.manager.profiles.end() ? nullptr : &*found;
}

bool add_to(config::Config& config) {
  const auto languages = LanguageRegistry::create(std::nullopt);
  return add_base_profile(config, *languages);
}

TEST(BaseProfile, NoneConfigured_IsMadeAsClientsExpectIt) {
  config::Config config;
  EXPECT_TRUE(add_to(config));
  const Profile* base = find_base(config);
  ASSERT_NE(base, nullptr);
  EXPECT_EQ(base->sandbox.work_dir, "/home/user");
  EXPECT_EQ(base->sandbox.user, "user");
  EXPECT_TRUE(base->sandbox.root);
  EXPECT_EQ(base->pool.pool_size, 1U);
  EXPECT_GE(base->pool.scale_limit, config.sessions.most);
  EXPECT_EQ(base->network.mode, Network::none);
}

TEST(BaseProfile, BackendThatDoesNotContainRoot_HasNone) {
  config::Config config;
  config.manager.engine.backend = BackendKind::docker;
  add_to(config);
  EXPECT_FALSE(find_base(config)->sandbox.root);
}

TEST(BaseProfile, NoSessions_KeepsNoneWarm) {
  config::Config config;
  config.sessions.most = 0;
  add_to(config);
  EXPECT_EQ(find_base(config)->pool.pool_size, 0U);
}

TEST(BaseProfile, OperatorsOwn_IsKept) {
  config::Config config;
  config.manager.profiles.emplace_back().name = "base";
  EXPECT_FALSE(add_to(config));
  EXPECT_EQ(config.manager.profiles.size(), 1U);
  EXPECT_EQ(find_base(config)->sandbox.user, "sandbox");
}

TEST(BaseProfile, DialectThatIsOff_HasNone) {
  config::Config config;
  config.dialects.e2b.enabled = false;
  add_to(config);
  EXPECT_EQ(find_base(config), nullptr);
}

TEST(BaseProfile, ProfileOfSessions_LendsWhatConcernsNoTenant) {
  config::Config config;
  Profile& session = config.manager.profiles.emplace_back();
  session.name = "session";
  session.sandbox.runtime = "crun";
  session.sandbox.limits.memory = mib(768);
  session.sandbox.mounts.push_back({.source = "/srv", .target = "/srv"});
  session.sandbox.gpus.count = 1;
  session.secrets = {"A"};
  session.network.mode = Network::internet;
  session.pool.pool_size = 0;
  ASSERT_TRUE(add_to(config));
  const Profile* base = find_base(config);
  EXPECT_EQ(base->sandbox.runtime, "crun");
  EXPECT_EQ(base->sandbox.limits.memory, mib(768));
  EXPECT_EQ(base->pool.pool_size, 0U);
  EXPECT_TRUE(base->sandbox.mounts.empty());
  EXPECT_TRUE(base->sandbox.gpus.empty());
  EXPECT_TRUE(base->secrets.empty());
  EXPECT_EQ(base->network.mode, Network::none);
}

TEST(BaseProfile, Files_AreWhereThoseOfSessionsAre) {
  config::Config config;
  config.manager.profiles.emplace_back().name = "session";
  ASSERT_TRUE(add_to(config));
  config.manager.profiles[0].sandbox.workspace = WorkspaceKind::disk;
  config.manager.profiles[0].sandbox.disk_size = mib(300);
  settle_base_workspace(config);
  EXPECT_EQ(find_base(config)->sandbox.workspace, WorkspaceKind::disk);
  EXPECT_EQ(find_base(config)->sandbox.disk_size, mib(300));
}

}  // namespace
}  // namespace cloche::server
