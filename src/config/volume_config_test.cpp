// `volumes:` of a profile, and the quotas of volumes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.hpp"

namespace cloche::config {
namespace {

using testing::HasSubstr;

std::string refusal_of_volumes(const std::string& of_profile) {
  const auto config = parse_config("profiles: {p: {" + of_profile + "}}", "test.yml", {});
  return config ? "" : config.error().message;
}

TEST(VolumesOfAProfile, AreReadOnlyAndHaveATarget) {
  const auto config = parse_config(R"(
profiles:
  p:
    tenants: all
    volumes: [{name: packages, tenant: ops}, {name: sets, tenant: ops, target: /workspace/sets}]
  q: {}
)",
                                   "test.yml", {});
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->volumes.size(), 1U);
  const std::vector<VolumeMount> wanted = {{"ops", "packages", "/volumes/packages"},
                                           {"ops", "sets", "/workspace/sets"}};
  EXPECT_EQ(config->volumes.at("p"), wanted);
}

TEST(VolumesOfAProfile, WhatMakesNoSense_IsRejected) {
  EXPECT_THAT(refusal_of_volumes("volumes: [{name: a, tenant: ops}]"), HasSubstr("requires `tenants"));
  EXPECT_THAT(refusal_of_volumes("tenants: all, volumes: [{name: a}]"), HasSubstr("needs a name and a tenant"));
  EXPECT_THAT(refusal_of_volumes("tenants: all, volumes: [{name: ../a, tenant: ops}]"), HasSubstr("letters"));
  EXPECT_THAT(refusal_of_volumes("tenants: all, volumes: [{name: a, tenant: ops, target: /etc}]"),
              HasSubstr("the target of a volume"));
  EXPECT_THAT(refusal_of_volumes("tenants: all, volumes: [{name: a, tenant: ops, access: read_write}]"),
              HasSubstr("access"));
}

TEST(VolumeQuotas, AreRead) {
  const auto config =
      parse_config("server: {quotas: {volumes: 3, tenants: {acme: {volumes: 9, volume_bytes: 1g}}}}", "test.yml", {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server.quotas.limits.volumes, 3U);
  EXPECT_EQ(config->server.quotas.limits.volume_bytes, std::nullopt);
  EXPECT_EQ(config->server.quotas.named.at("acme").volume_bytes, mib(1024).count);
}

}  // namespace
}  // namespace cloche::config
