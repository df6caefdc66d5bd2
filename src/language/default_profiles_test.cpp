#include "language/default_profiles.hpp"

#include <gtest/gtest.h>

#include "sandbox/limits.hpp"

namespace cloche {
namespace {

const LanguageRegistry& languages() {
  static const LanguageRegistry shipped = *LanguageRegistry::create(std::nullopt);
  return shipped;
}

bool has_all(const std::string&) { return true; }
bool has_none(const std::string&) { return false; }

TEST(SessionProfile, OnOci_HasRoomForAllSessions) {
  const Profile profile = session_profile(languages(), BackendKind::oci, "left:out", 50, has_all);
  EXPECT_EQ(profile.name, "session");
  EXPECT_EQ(profile.sandbox.image, "");
  EXPECT_EQ(profile.sandbox.limits.memory, mib(512));
  EXPECT_EQ(profile.sandbox.limits.cpus, 1);
  EXPECT_EQ(profile.sandbox.limits.pids, 128u);
  EXPECT_EQ(profile.sandbox.limits.file_size, mib(64));
  EXPECT_EQ(profile.sandbox.limits.work_dir, mib(256));
  EXPECT_EQ(profile.pool.pool_size, 2u);
  EXPECT_EQ(profile.pool.scale_limit, 52u);
  ASSERT_EQ(profile.zygotes.size(), 1u);
  EXPECT_EQ(profile.zygotes[0].name, "python");
}

TEST(SessionProfile, WithoutPython_HasNoZygote) {
  EXPECT_TRUE(session_profile(languages(), BackendKind::oci, "", 50, has_none).zygotes.empty());
}

TEST(SessionProfile, OnDocker_HasTheImage) {
  const Profile profile = session_profile(languages(), BackendKind::docker, "worker:1", 50, has_none);
  EXPECT_EQ(profile.sandbox.image, "worker:1");
  EXPECT_EQ(profile.zygotes.size(), 1u);
}

TEST(SessionProfile, NoSessions_KeepsNothingWarm) {
  EXPECT_EQ(session_profile(languages(), BackendKind::oci, "", 0, has_all).pool.pool_size, 0u);
}

TEST(DefaultProfiles, TemplatesOfAService_HaveTheirOwnSizesAndAreNotKeptWaiting) {
  const auto profiles = default_profiles(languages(), BackendKind::e2b, has_none);
  EXPECT_FALSE(profiles.empty());
  for (const Profile& profile : profiles) {
    EXPECT_TRUE(are_of_image(profile.sandbox.limits)) << profile.name;
    EXPECT_EQ(profile.sandbox.image, "") << profile.name;
    EXPECT_EQ(profile.pool.pool_size, 0U) << profile.name;
  }
  const Profile session = session_profile(languages(), BackendKind::e2b, "", 50, has_none);
  EXPECT_TRUE(are_of_image(session.sandbox.limits));
  EXPECT_EQ(session.pool.pool_size, 0U);
  EXPECT_EQ(session.sandbox.limits.pids, 128U);
}

}  // namespace
}  // namespace cloche
