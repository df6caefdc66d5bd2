// `dialects:` of a configuration.
#include <gtest/gtest.h>

#include "config/config.hpp"

namespace cloche::config {
namespace {

using namespace std::chrono_literals;

Result<Config> parse_dialects(const std::string& e2b) {
  return parse_config("dialects: {e2b: {" + e2b + "}}\n", "cloche.yml", {});
}

TEST(DialectsConfig, NothingSaid_IsOnWithSafeDefaults) {
  const E2bSettings e2b = parse_config("", "cloche.yml", {})->dialects.e2b;
  EXPECT_TRUE(e2b.enabled);
  EXPECT_FALSE(e2b.insecure);
  EXPECT_TRUE(e2b.public_traffic);
  EXPECT_EQ(e2b.max_timeout, 24h);
  EXPECT_EQ(e2b.domain, "");
  EXPECT_TRUE(e2b.templates.empty());
}

TEST(DialectsConfig, EveryKey_IsRead) {
  const auto config = parse_dialects(
      "enabled: false, domain: 'sbx.example.com:8443', insecure: true, public_traffic: false, max_timeout: 90m, "
      "templates: {My.Data_1: base}");
  ASSERT_TRUE(config) << config.error().message;
  const E2bSettings& e2b = config->dialects.e2b;
  EXPECT_FALSE(e2b.enabled);
  EXPECT_EQ(e2b.domain, "sbx.example.com:8443");
  EXPECT_TRUE(e2b.insecure);
  EXPECT_FALSE(e2b.public_traffic);
  EXPECT_EQ(e2b.max_timeout, 90min);
  EXPECT_EQ(e2b.templates.at("My.Data_1"), "base");
}

TEST(DialectsConfig, InvalidValue_IsRefused) {
  for (const char* e2b :
       {"enabled: maybe", "domain: 'https://x.y'", "domain: 'x..y'", "domain: '-x.y'", "domain: 'X.y'",
        "domain: 'x.y:0'", "domain: 'x.y:65536'", "domain: 'x.y:'", "max_timeout: 0s", "max_timeout: 9000h",
        "templates: {'a/b': base}", "templates: {a: 'B C'}", "templates: [a]", "port: 1"}) {
    EXPECT_FALSE(parse_dialects(e2b)) << e2b;
  }
  EXPECT_FALSE(parse_config("dialects: {piston: {}}\n", "cloche.yml", {}));
}

}  // namespace
}  // namespace cloche::config
