// What profiles, claims and sessions may say about their network, and the policies that follow from it.
#include "egress/policy/choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "egress/policy/network_mode.hpp"

namespace cloche::egress {
namespace {

using ::testing::HasSubstr;

RuleSets some_sets() {
  EgressOptions options;
  options.rules["mirror"].allow = {
      {.host = "mirror.example", .ports = {"443"}, .methods = {}, .paths = {}, .secret = {}}};
  options.rules["mirror"].deny = {
      {.host = "old.mirror.example", .ports = {}, .methods = {}, .paths = {}, .secret = {}}};
  options.rules["local"].allow = {{.host = "127.0.0.0/8:8000", .ports = {}, .methods = {}, .paths = {}, .secret = {}}};
  return to_rule_sets(options).value();
}

NetworkPolicy allow_list_of(std::vector<std::string> rules, std::vector<std::string> allow = {},
                            std::vector<std::string> deny = {}) {
  return {.mode = Network::allow_list, .rules = std::move(rules), .allow = std::move(allow), .deny = std::move(deny)};
}

Rights chooser_with(std::vector<std::string> own) {
  return {.may_choose = true,
          .may_use_set = [own](std::string_view name) { return std::ranges::find(own, name) != own.end(); },
          .may_open_reserved = false};
}
Rights no_chooser() {
  return {.may_choose = false, .may_use_set = [](std::string_view) { return true; }};
}

ErrorCode code_of(const NetworkPolicy& network, const Rights& rights) {
  const auto policy = policy_of(network, some_sets(), rights);
  return policy ? ErrorCode::internal : policy.error().code;
}

TEST(NetworkMode, Words_AreReadAndWritten) {
  for (const Network network : {Network::none, Network::allow_list, Network::internet}) {
    EXPECT_EQ(parse_network(to_string(network)).value(), network);
  }
  for (const char* word : {"", "host", "None", "allow_list", "all"}) {
    EXPECT_THAT(parse_network(word).error().message, HasSubstr("none, allow-list or internet")) << word;
  }
}

TEST(NetworkChoice, None_IsForEveryCaller) {
  const auto policy = policy_of(NetworkPolicy(), some_sets(), no_chooser());
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->network, Network::none);
}

TEST(NetworkChoice, NoneWithRules_IsRejected) {
  NetworkPolicy network;
  network.allow = {"example.org"};
  EXPECT_EQ(code_of(network, Rights::of_operator()), ErrorCode::invalid_argument);
  network = {};
  network.rules = {"mirror"};
  EXPECT_EQ(code_of(network, Rights::of_operator()), ErrorCode::invalid_argument);
  network = {};
  network.deny = {"example.org"};
  EXPECT_EQ(code_of(network, Rights::of_operator()), ErrorCode::invalid_argument);
}

TEST(NetworkChoice, CallerThatMayNotChoose_LearnsNothing) {
  NetworkPolicy internet;
  internet.mode = Network::internet;
  std::string first;
  for (const NetworkPolicy& network : {internet, allow_list_of({}), allow_list_of({"mirror"}),
                                       allow_list_of({"missing"}), allow_list_of({}, {"a.net"})}) {
    const auto with_sets = policy_of(network, some_sets(), no_chooser());
    const auto without = policy_of(network, {}, no_chooser());
    ASSERT_FALSE(with_sets);
    ASSERT_FALSE(without);
    EXPECT_EQ(with_sets.error().code, ErrorCode::not_found);
    EXPECT_EQ(with_sets.error().message, without.error().message);
    if (first.empty()) first = with_sets.error().message;
    EXPECT_EQ(with_sets.error().message, first);
  }
}

TEST(NetworkChoice, RuleSetOfOthers_IsLikeAMissingOne) {
  const auto of_others = policy_of(allow_list_of({"local"}), some_sets(), chooser_with({"mirror"}));
  RuleSets fewer = some_sets();
  fewer.erase("local");
  const auto missing = policy_of(allow_list_of({"local"}), fewer, chooser_with({"mirror", "local"}));
  ASSERT_FALSE(of_others);
  ASSERT_FALSE(missing);
  EXPECT_EQ(of_others.error().code, ErrorCode::not_found);
  EXPECT_EQ(of_others.error().code, missing.error().code);
  EXPECT_EQ(of_others.error().message, missing.error().message);
}

TEST(NetworkChoice, NameThatIsNoRuleSet_IsNotThere) {
  for (const std::string& name : {std::string(), std::string("A"), std::string("a b"), std::string("../a"),
                                  std::string(65, 'a'), std::string("a\0b", 3)}) {
    EXPECT_EQ(code_of(allow_list_of({name}), Rights::of_operator()), ErrorCode::not_found) << name;
  }
}

TEST(NetworkChoice, RuleSetsAndTexts_AreCombinedInOrder) {
  const auto policy = policy_of(allow_list_of({"mirror", "local"}, {"*.example.org"}, {"bad.example.org"}), some_sets(),
                                chooser_with({"mirror", "local"}));
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->network, Network::allow_list);
  std::vector<std::string> allow, deny;
  for (const Rule& rule : policy->allow) allow.push_back(rule.text());
  for (const Rule& rule : policy->deny) deny.push_back(rule.text());
  EXPECT_THAT(allow, ::testing::ElementsAre("mirror.example:443", "127.0.0.0/8:8000", "*.example.org"));
  EXPECT_THAT(deny, ::testing::ElementsAre("old.mirror.example", "bad.example.org"));
}

TEST(NetworkChoice, TextOfACaller_NeverOpensReservedAddresses) {
  for (const char* text :
       {"127.0.0.1", "127.0.0.0/8:80", "10.0.0.0/8", "10.1.2.3:5432", "192.168.0.0/16", "172.16.0.0/12",
        "169.254.169.254", "100.64.0.0/10", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "[::1]:80", "fe80::/10",
        "fc00::/7", "::ffff:127.0.0.1", "[::ffff:10.0.0.0]/104:80", "64:ff9b::7f00:1", "2002:7f00:1::"}) {
    EXPECT_EQ(code_of(allow_list_of({}, {text}), chooser_with({})), ErrorCode::invalid_argument) << text;
    EXPECT_TRUE(policy_of(allow_list_of({}, {text}), {}, Rights::of_operator())) << text;
    EXPECT_TRUE(policy_of(allow_list_of({}, {}, {text}), {}, chooser_with({}))) << text << " is denied";
  }
}

TEST(NetworkChoice, WideBlockOfACaller_OpensPublicAddressesAlone) {
  const auto policy = policy_of(allow_list_of({}, {"0.0.0.0/0:1-65535", "::/0", "*:1-65535"}), {}, chooser_with({}));
  ASSERT_TRUE(policy) << policy.error().message;
  const auto reaches = [&](std::string_view host, std::string_view address) {
    const Destination to = parse_destination(host, 80).value();
    return decide_destination(*policy, to, Carriage::opaque).allowed &&
           decide_address(*policy, to, Address::parse(address).value(), Carriage::opaque).allowed;
  };
  EXPECT_TRUE(reaches("8.8.8.8", "8.8.8.8"));
  EXPECT_TRUE(reaches("example.org", "8.8.8.8"));
  for (const char* address : {"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"}) {
    EXPECT_FALSE(reaches(address, address)) << address;
    EXPECT_FALSE(reaches("example.org", address)) << address;
  }
}

TEST(NetworkChoice, RuleSetOfTheOperator_OpensReservedAddressesForItsTenants) {
  const auto policy = policy_of(allow_list_of({"local"}), some_sets(), chooser_with({"local"}));
  ASSERT_TRUE(policy);
  const Destination to = parse_destination("127.0.0.1", 8000).value();
  EXPECT_TRUE(decide_address(*policy, to, *to.address, Carriage::opaque).allowed);
  const Destination other = parse_destination("127.0.0.1", 8001).value();
  EXPECT_FALSE(decide_address(*policy, other, *other.address, Carriage::opaque).allowed);
}

TEST(NetworkChoice, InvalidText_IsRejectedWithTheText) {
  const auto policy = policy_of(allow_list_of({}, {"a.net:0"}), {}, chooser_with({}));
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(policy.error().message, HasSubstr("a.net:0"));
}

TEST(NetworkChoice, MoreThanTheBounds_IsRejected) {
  EXPECT_TRUE(policy_of(allow_list_of({}, std::vector<std::string>(256, "a.net")), {}, chooser_with({})));
  EXPECT_EQ(code_of(allow_list_of({}, std::vector<std::string>(257, "a.net")), chooser_with({})),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(allow_list_of({}, {std::string(301, 'a')}), chooser_with({})), ErrorCode::invalid_argument);
}

TEST(NetworkChoice, Internet_HasRulesToo) {
  NetworkPolicy network{.mode = Network::internet, .rules = {"local"}, .allow = {}, .deny = {"bad.net"}};
  const auto policy = policy_of(network, some_sets(), chooser_with({"local"}));
  ASSERT_TRUE(policy);
  EXPECT_TRUE(decide_destination(*policy, parse_destination("good.net", 22).value(), Carriage::opaque).allowed);
  EXPECT_FALSE(decide_destination(*policy, parse_destination("bad.net", 22).value(), Carriage::opaque).allowed);
}

}  // namespace
}  // namespace cloche::egress
