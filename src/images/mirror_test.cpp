#include "images/mirror.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::images {
namespace {

TEST(Mirror, TargetsOfDebian_BecomeSignedSources) {
  const std::string sources = sources_from_targets(
      "http://mirror.example/debian/ bookworm Debian\n"
      "http://mirror.example/debian/ bookworm Debian\n"
      "http://mirror.example/debian/ bookworm-updates Debian\n"
      "http://mirror.example/security/ bookworm-security Debian\n");
  EXPECT_EQ(
      sources,
      "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian/ bookworm main\n"
      "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian/ "
      "bookworm-updates main\n"
      "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/security/ "
      "bookworm-security main\n");
}

TEST(Mirror, ThirdParties_AreLeftOut) {
  const std::string sources = sources_from_targets(
      "https://vendor.example/apt/ bookworm Vendor\n"
      "http://mirror.example/debian/ bookworm Debian\n"
      "http://mirror.example/debian/ bookworm-backports Debian\n");
  EXPECT_THAT(sources, testing::Not(testing::HasSubstr("vendor")));
  EXPECT_THAT(sources, testing::Not(testing::HasSubstr("backports")));
}

TEST(Mirror, OtherRelease_HasNoSources) {
  EXPECT_EQ(sources_from_targets("http://mirror.example/debian/ trixie Debian\n"), "");
  EXPECT_EQ(sources_from_targets("http://mirror.example/security/ bookworm-security Debian\n"), "");
  EXPECT_EQ(sources_from_targets(""), "");
}

TEST(Mirror, AddressThatWouldBreakOut_IsLeftOut) {
  EXPECT_EQ(sources_from_targets("http://mirror.example/[trusted=yes] bookworm Debian\n"), "");
}

TEST(Mirror, AptsProxies_AreTakenAndEmptyOnesNot) {
  EXPECT_THAT(proxies_in("Acquire::http::Proxy \"http://proxy.example:3128\";\n"
                         "Acquire::https::proxy::mirror.example \"DIRECT\";\n"
                         "Acquire::https::Proxy \"\";\n"
                         "Acquire::http::Timeout \"30\";\n"
                         "APT::Architecture \"amd64\";\n"),
              testing::ElementsAre("Acquire::http::Proxy \"http://proxy.example:3128\";",
                                   "Acquire::https::proxy::mirror.example \"DIRECT\";"));
}

}  // namespace
}  // namespace cloche::images
