// Two lists of destinations, as a network.
#include "egress/policy/out_lists.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "egress/policy/choice.hpp"

namespace cloche::egress {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool reaches(const OutLists& lists, std::string_view host, std::uint16_t port = 443) {
  const auto network = network_of(lists);
  if (!network) ADD_FAILURE() << network.error().message;
  const auto policy = policy_of(*network, {}, Rights::of_operator());
  const Destination to = parse_destination(host, port).value();
  if (!decide_destination(*policy, to, Carriage::opaque).allowed) return false;
  return !to.address || decide_address(*policy, to, *to.address, Carriage::opaque).allowed;
}

TEST(OutLists, Nothing_IsTheInternet) {
  const auto network = network_of({});
  EXPECT_EQ(network->mode, Network::internet);
  EXPECT_TRUE(reaches({}, "example.org", 22));
}

TEST(OutLists, EverythingDenied_AllowsTheListAlone) {
  const OutLists lists{.allow = {"8.8.8.8", "1.1.1.0/24", "api.example", "*.files.example"}, .deny = {"0.0.0.0/0"}};
  const auto network = network_of(lists);
  EXPECT_EQ(network->mode, Network::allow_list);
  EXPECT_THAT(network->allow, ElementsAre("8.8.8.8:1-65535", "1.1.1.0/24:1-65535", "api.example", "*.files.example"));
  EXPECT_THAT(network->deny, IsEmpty());
  EXPECT_TRUE(reaches(lists, "8.8.8.8", 53));
  EXPECT_TRUE(reaches(lists, "1.1.1.7", 22));
  EXPECT_TRUE(reaches(lists, "api.example"));
  EXPECT_TRUE(reaches(lists, "a.files.example"));
  EXPECT_FALSE(reaches(lists, "api.example", 22));
  EXPECT_FALSE(reaches(lists, "8.8.4.4"));
  EXPECT_FALSE(reaches(lists, "example.org"));
}

TEST(OutLists, EverythingDenied_NothingAllowed) {
  for (const char* everything : {"0.0.0.0/0", "::/0"}) {
    EXPECT_FALSE(reaches({.allow = {}, .deny = {everything}}, "example.org")) << everything;
  }
}

TEST(OutLists, DeniedBlock_IsDeniedOnEveryPort) {
  const OutLists lists{.allow = {}, .deny = {"8.8.8.0/24"}};
  EXPECT_FALSE(reaches(lists, "8.8.8.8", 22));
  EXPECT_TRUE(reaches(lists, "8.8.9.8", 22));
}

TEST(OutLists, AllowedPartOfADeniedBlock_IsAllowed) {
  const OutLists lists{.allow = {"8.8.8.8"}, .deny = {"8.8.8.0/24"}};
  EXPECT_TRUE(reaches(lists, "8.8.8.8", 22));
  for (int last = 0; last < 256; ++last) {
    if (last == 8) continue;
    EXPECT_FALSE(reaches(lists, "8.8.8." + std::to_string(last), 22)) << last;
  }
  EXPECT_THAT(network_of(lists)->deny, ::testing::SizeIs(8));
}

TEST(OutLists, AllowedPartOfADeniedBlockOfIpv6_IsAllowed) {
  const OutLists lists{.allow = {"2a00:1::/64"}, .deny = {"2a00::/16"}};
  EXPECT_TRUE(reaches(lists, "2a00:1::5"));
  EXPECT_FALSE(reaches(lists, "2a00:1:0:1::5"));
  EXPECT_FALSE(reaches(lists, "2a00:ffff::1"));
}

TEST(OutLists, AllowedBlockAroundADeniedOne_AllowsAll) {
  const OutLists lists{.allow = {"8.0.0.0/8"}, .deny = {"8.8.8.0/24"}};
  EXPECT_TRUE(reaches(lists, "8.8.8.8"));
  EXPECT_THAT(network_of(lists)->deny, IsEmpty());
}

TEST(OutLists, PartThatMeansIpv4Addresses_CannotBeCutOut) {
  const auto network = network_of({.allow = {"2003::/16"}, .deny = {"2000::/3"}});
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().code, ErrorCode::invalid_argument);
}

TEST(OutLists, NameInTheWrongPlace_IsRejected) {
  EXPECT_THAT(network_of({.allow = {}, .deny = {"example.org"}}).error().message, HasSubstr("only addresses"));
  EXPECT_THAT(network_of({.allow = {"example.org"}, .deny = {}}).error().message, HasSubstr("0.0.0.0/0 is denied"));
  EXPECT_THAT(network_of({.allow = {"8.8.8.8:53"}, .deny = {}}).error().message, HasSubstr("must not have a port"));
}

}  // namespace
}  // namespace cloche::egress
