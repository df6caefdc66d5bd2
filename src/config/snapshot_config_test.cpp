// `snapshots:`, and the quotas of snapshots.
#include <gtest/gtest.h>

#include "config/config.hpp"

namespace cloche::config {
namespace {

TEST(SnapshotConfig, LargestSize_IsRead) {
  EXPECT_EQ(parse_config("{}", "test.yml", {})->snapshots.max_size, mib(8192));
  EXPECT_EQ(parse_config("snapshots: {max_size: 64m}", "test.yml", {})->snapshots.max_size, mib(64));
  EXPECT_FALSE(parse_config("snapshots: {max_size: many}", "test.yml", {}));
  EXPECT_FALSE(parse_config("snapshots: {least_size: 1m}", "test.yml", {}));
}

TEST(SnapshotConfig, Quotas_AreRead) {
  const auto config =
      parse_config("server: {quotas: {snapshots: 3, tenants: {acme: {snapshot_bytes: 1g}}}}", "test.yml", {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server.quotas.limits.snapshots, 3U);
  EXPECT_EQ(config->server.quotas.limits.snapshot_bytes, std::nullopt);
  EXPECT_EQ(config->server.quotas.named.at("acme").snapshots, 32U);
  EXPECT_EQ(config->server.quotas.named.at("acme").snapshot_bytes, mib(1024).count);
}

}  // namespace
}  // namespace cloche::config
