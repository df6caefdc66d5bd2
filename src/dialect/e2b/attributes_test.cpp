#include "dialect/e2b/attributes.hpp"

#include <gtest/gtest.h>

namespace cloche::dialect::e2b {
namespace {

TEST(Attributes, WhatWasWritten_IsReadBack) {
  Attributes attributes;
  attributes.template_id = "base";
  EXPECT_EQ(attributes_of(to_map(attributes)), attributes);
  attributes.secure = false;
  attributes.auto_resume = true;
  attributes.public_traffic = false;
  attributes.api_key = "0123456789abcdef";
  attributes.timeout = std::chrono::seconds(7);
  attributes.internet = false;
  attributes.network = R"({"allowOut":["a"]})";
  attributes.mask_host = "app.example:${PORT}";
  attributes.https_ports = {8443, 1};
  EXPECT_EQ(attributes_of(to_map(attributes)), attributes);
}

TEST(MaskedHost, PortMark_IsReplaced) {
  EXPECT_EQ(masked_host("app.example:${PORT}", 8000), "app.example:8000");
  EXPECT_EQ(masked_host("${PORT}.${PORT}.example", 1), "1.1.example");
  EXPECT_EQ(masked_host("app.example", 8000), "app.example");
}

TEST(Attributes, SessionOfAnother_HasNone) {
  EXPECT_FALSE(attributes_of({}));
  EXPECT_FALSE(attributes_of({{"e2b.secure", "0"}}));
}

TEST(Attributes, WhatIsMissing_ProtectsMore) {
  const auto attributes = attributes_of({{"e2b.template", "base"}, {"e2b.timeout", "x"}});
  EXPECT_TRUE(attributes->secure);
  EXPECT_FALSE(attributes->auto_resume);
  EXPECT_FALSE(attributes->public_traffic);
  EXPECT_EQ(attributes->timeout, std::chrono::seconds(300));
}

}  // namespace
}  // namespace cloche::dialect::e2b
