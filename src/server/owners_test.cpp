#include "server/owners.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::server {
namespace {

using auth::AccessList;
using auth::Resource;
using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  config::Config config;
  LanguageRegistry languages;

  Result<pool::Tenancy> owners() const { return owners_of(config, config.manager.profiles, languages); }
};

Read read(const std::string& text) {
  auto config = config::parse_config(text, "cloche.yml", {{"TOKEN", "t"}});
  EXPECT_TRUE(config) << config.error().message;
  auto languages = LanguageRegistry::create(config->languages);
  EXPECT_TRUE(languages) << languages.error().message;
  return {std::move(*config), std::move(*languages)};
}

TEST(Owners, PlainProfile_IsForEveryTenant) {
  const auto owners = read("profiles: {python: {env: {A: b}, limits: {memory: 64m}}}").owners();
  ASSERT_TRUE(owners) << owners.error().message;
  EXPECT_TRUE(owners->access.is_open(Resource::profile, "python"));
}

TEST(Owners, ProfileWithGpus_MustListItsTenants) {
  const auto owners = read("profiles: {python: {gpus: 1}}").owners();
  ASSERT_FALSE(owners);
  EXPECT_THAT(owners.error().message, HasSubstr("profile 'python' has GPUs but does not list the tenants"));
  EXPECT_TRUE(read("profiles: {python: {gpus: 1, tenants: [acme]}}").owners());
  EXPECT_TRUE(read("profiles: {python: {gpus: 0}}").owners());
}

TEST(Owners, PlainProfileThatListsTenants_IsForThoseAlone) {
  const auto owners = read("profiles: {python: {tenants: [acme]}}").owners().value();
  EXPECT_TRUE(owners.access.allows(Resource::profile, "python", "acme"));
  EXPECT_FALSE(owners.access.allows(Resource::profile, "python", "default"));
}

TEST(Owners, GuardedProfileWithoutTenants_IsRefusedWithWhatToWrite) {
  const std::string secret = "secrets: {TOKEN: {env: TOKEN}}\n";
  for (const std::string& keys :
       {std::string("secrets: [TOKEN]"), std::string("mounts: [{source: /srv, target: /data}]"),
        std::string("secrets: [TOKEN], mounts: [{source: /srv, target: /data}]")}) {
    const auto owners = read(secret + "profiles: {python: {" + keys + "}}").owners();
    ASSERT_FALSE(owners) << keys;
    EXPECT_EQ(owners.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(owners.error().message, HasSubstr("profile 'python' has "));
    EXPECT_THAT(owners.error().message, HasSubstr("tenants: [NAME, ...]"));
    EXPECT_THAT(owners.error().message, HasSubstr("`default`"));
  }
}

TEST(Owners, GuardedProfileWithTenants_IsForThose) {
  const std::string rest = ", mounts: [{source: /srv, target: /data}]}}";
  const auto some = read("profiles: {python: {tenants: [graders, acme]" + rest).owners().value();
  EXPECT_TRUE(some.access.allows(Resource::profile, "python", "graders"));
  EXPECT_FALSE(some.access.allows(Resource::profile, "python", "other"));
  EXPECT_TRUE(read("profiles: {python: {tenants: all" + rest).owners()->access.is_open(Resource::profile, "python"));
  EXPECT_FALSE(
      read("profiles: {python: {tenants: []" + rest).owners()->access.allows(Resource::profile, "python", "acme"));
}

TEST(Owners, SecretWithoutTenants_CanBeNamedByNone) {
  const auto owners = read(
                          "secrets:\n  A: a\n  B: {env: TOKEN}\n  C: {value: c, tenants: [acme]}\n"
                          "  D: {env: TOKEN, tenants: all}\n")
                          .owners()
                          .value();
  EXPECT_FALSE(owners.access.allows(Resource::secret, "A", "default"));
  EXPECT_FALSE(owners.access.allows(Resource::secret, "B", "default"));
  EXPECT_FALSE(owners.access.allows(Resource::secret, "C", "default"));
  EXPECT_TRUE(owners.access.allows(Resource::secret, "C", "acme"));
  EXPECT_TRUE(owners.access.allows(Resource::secret, "D", "anyone"));
  EXPECT_FALSE(owners.access.allows(Resource::secret, "PATH", "anyone"));
}

TEST(Owners, AddedLanguage_IsForThoseWhoMayUseItsProfile) {
  const auto read_one = read(
      "profiles: {vault: {tenants: [graders]}, python: {tenants: [graders]}}\n"
      "languages: {zig: {profile: vault, extensions: [.zig], run: [zig, '{filename}']},\n"
      "            lua: {profile: elsewhere, extensions: [.lua], run: [lua, '{filename}']}}\n");
  const auto owners = read_one.owners().value();
  EXPECT_TRUE(read_one.languages.find_for(owners.access, "graders", "zig"));
  const auto closed = read_one.languages.find_for(owners.access, "acme", "zig");
  const auto unknown = read_one.languages.find_for(owners.access, "acme", "zag");
  ASSERT_FALSE(closed);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(closed.error().code, unknown.error().code);
  std::string words = closed.error().message;
  words.replace(words.find("zig"), 3, "zag");
  EXPECT_EQ(words, unknown.error().message);
  EXPECT_TRUE(read_one.languages.find_for(owners.access, "acme", "lua"));
  // The built-in languages are not secret; if the pool of one is closed, it has no sandbox, as on a host without that
  // pool.
  EXPECT_TRUE(read_one.languages.find_for(owners.access, "acme", "python"));
}

TEST(Owners, NamesOfLanguages_FallBackAsIfAClosedProfileWasMissing) {
  const auto read_one = read("profiles: {c: {tenants: [graders]}, cpp: {}, py: {tenants: [graders]}, python: {}}");
  const auto owners = read_one.owners().value();
  EXPECT_THAT(owners.fallbacks.at("c"), ElementsAre("cpp"));
  EXPECT_THAT(owners.fallbacks.at("gcc"), ElementsAre("cpp"));
  EXPECT_THAT(owners.fallbacks.at("py"), ElementsAre("python"));
  EXPECT_FALSE(owners.fallbacks.contains("python"));
  EXPECT_FALSE(owners.fallbacks.contains("cpp"));
}

TEST(Owners, SecretThatNobodyCanUse_IsNoticed) {
  const auto read_one = read(
      "secrets: {A: a, B: {value: b, tenants: all}, C: c}\n"
      "profiles: {python: {secrets: [C], tenants: all}}");
  EXPECT_THAT(useless_secrets(read_one.config, read_one.config.manager.profiles), ElementsAre("A"));
}

}  // namespace
}  // namespace cloche::server
