// Decisions over many destinations, by name, by address and by request.
#include "egress/policy/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

using ::testing::HasSubstr;

std::vector<Rule> rules(std::initializer_list<const char*> texts) {
  std::vector<Rule> all;
  for (const char* text : texts) all.push_back(parse_rule(text).value());
  return all;
}

Policy allow_list(std::initializer_list<const char*> allow, std::initializer_list<const char*> deny = {}) {
  return {.network = Network::allow_list, .allow = rules(allow), .deny = rules(deny)};
}
Policy internet(std::initializer_list<const char*> allow = {}, std::initializer_list<const char*> deny = {}) {
  return {.network = Network::internet, .allow = rules(allow), .deny = rules(deny)};
}

Destination to(std::string_view host, std::uint16_t port = 443) { return parse_destination(host, port).value(); }

bool reaches(const Policy& policy, std::string_view host, std::uint16_t port = 443) {
  return decide_destination(policy, to(host, port), Carriage::opaque).allowed;
}
bool connects(const Policy& policy, std::string_view host, std::string_view address, std::uint16_t port = 443) {
  return reaches(policy, host, port) &&
         decide_address(policy, to(host, port), Address::parse(address).value(), Carriage::opaque).allowed;
}

TEST(Policy, NoNetwork_ReachesNothing) {
  Policy none = allow_list({"*", "0.0.0.0/0", "127.0.0.1"});
  none.network = Network::none;
  EXPECT_FALSE(reaches(none, "example.org"));
  EXPECT_FALSE(reaches(none, "127.0.0.1", 80));
  EXPECT_FALSE(decide_address(none, to("example.org"), Address::parse("8.8.8.8").value(), Carriage::requests).allowed);
}

TEST(Policy, ExactName_MatchesInAnySpellingAndNothingElse) {
  const Policy policy = allow_list({"Example.ORG"});
  for (const char* host : {"example.org", "EXAMPLE.org", "example.org."}) EXPECT_TRUE(reaches(policy, host)) << host;
  for (const char* host : {"a.example.org", "example.org.evil.net", "xexample.org", "example.or", "93.184.216.34"}) {
    EXPECT_FALSE(reaches(policy, host)) << host;
  }
}

TEST(Policy, SuffixRule_MatchesEveryDepthButNotItself) {
  const Policy policy = allow_list({"*.example.org"});
  EXPECT_TRUE(reaches(policy, "a.example.org"));
  EXPECT_TRUE(reaches(policy, "a.b.example.org."));
  EXPECT_FALSE(reaches(policy, "example.org"));
  EXPECT_FALSE(reaches(policy, "badexample.org"));
}

TEST(Policy, RuleWithoutPorts_AllowsTheWebAndDeniesEverything) {
  EXPECT_TRUE(reaches(allow_list({"a.net"}), "a.net", 80));
  EXPECT_TRUE(reaches(allow_list({"a.net"}), "a.net", 443));
  EXPECT_FALSE(reaches(allow_list({"a.net"}), "a.net", 22));
  EXPECT_FALSE(reaches(internet({}, {"a.net"}), "a.net", 22));
}

TEST(Policy, Ports_AreNumbersAndRanges) {
  const Policy policy = allow_list({"a.net:22", "b.net:8000-8002", "[2001:4860::]/32:53"});
  EXPECT_TRUE(reaches(policy, "a.net", 22));
  EXPECT_FALSE(reaches(policy, "a.net", 443));
  EXPECT_TRUE(reaches(policy, "b.net", 8002));
  EXPECT_FALSE(reaches(policy, "b.net", 8003));
  EXPECT_TRUE(reaches(policy, "2001:4860::8888", 53));
}

TEST(Policy, Denial_WinsByNameAndByAddress) {
  const Policy policy = allow_list({"*", "1.0.0.0/8"}, {"*.bad.org", "1.2.3.0/24", "8.8.8.8"});
  EXPECT_FALSE(reaches(policy, "x.bad.org"));
  EXPECT_FALSE(reaches(policy, "1.2.3.4"));
  EXPECT_TRUE(reaches(policy, "1.2.4.4"));
  EXPECT_FALSE(connects(policy, "good.org", "8.8.8.8")) << "a name that resolves to a denied address";
  EXPECT_FALSE(connects(policy, "good.org", "::ffff:8.8.8.8"));
  EXPECT_TRUE(connects(policy, "good.org", "8.8.4.4"));
  EXPECT_EQ(decide_destination(policy, to("x.bad.org"), Carriage::opaque).rule, "*.bad.org");
}

TEST(Policy, AddressThatIsNotPublic_IsRefusedAfterResolution) {
  for (const Policy& policy : {internet(), allow_list({"*", "0.0.0.0/0", "::/0"})}) {
    for (const char* address : {"127.0.0.1",
                                "127.255.255.254",
                                "0.0.0.0",
                                "10.1.2.3",
                                "172.16.0.1",
                                "172.31.255.255",
                                "192.168.1.1",
                                "169.254.169.254",
                                "100.64.0.1",
                                "198.18.0.1",
                                "192.0.2.1",
                                "224.0.0.1",
                                "255.255.255.255",
                                "::1",
                                "::",
                                "fe80::1",
                                "fd00:ec2::254",
                                "ff02::1",
                                "::ffff:127.0.0.1",
                                "::ffff:169.254.169.254",
                                "64:ff9b::7f00:1",
                                "64:ff9b::a9fe:a9fe",
                                "2002:7f00:1::",
                                "::127.0.0.1",
                                "2001:db8::1",
                                "fec0::1"}) {
      EXPECT_FALSE(connects(policy, "rebound.org", address)) << address;
      EXPECT_FALSE(connects(policy, address, address)) << address;
    }
    for (const char* address : {"8.8.8.8", "172.32.0.1", "172.15.0.1", "2606:4700::1", "::ffff:8.8.8.8"}) {
      EXPECT_TRUE(connects(policy, "plain.org", address)) << address;
    }
  }
}

TEST(Policy, RuleThatNamesReservedAddresses_OpensThoseAlone) {
  const Policy policy = allow_list({"git.corp:22", "10.0.0.0/8:22", "127.0.0.1:5432"});
  EXPECT_TRUE(connects(policy, "git.corp", "10.20.30.40", 22));
  EXPECT_FALSE(connects(policy, "git.corp", "192.168.0.1", 22));
  EXPECT_FALSE(connects(policy, "git.corp", "127.0.0.1", 22)) << "named for another port";
  EXPECT_TRUE(connects(policy, "127.0.0.1", "127.0.0.1", 5432));
  EXPECT_FALSE(connects(policy, "127.0.0.2", "127.0.0.2", 5432));
  EXPECT_TRUE(connects(internet({"10.0.0.0/8:22"}), "git.corp", "10.20.30.40", 22));
}

TEST(Policy, NameRule_DoesNotMatchAddresses) {
  EXPECT_FALSE(reaches(allow_list({"*"}), "8.8.8.8"));
  EXPECT_TRUE(reaches(allow_list({"8.8.8.0/24"}), "8.8.8.8"));
  EXPECT_FALSE(reaches(allow_list({"8.8.8.0/24"}), "dns.example")) << "the name itself needs a rule";
}

TEST(Policy, HostsInDisguise_AreNoDestinations) {
  for (const char* host :
       {"",           ".",           "127.1",    "2130706433", "0x7f000001",  "0x7f.0.0.1",   "017700000001",
        "0177.0.0.1", "127.0.0.1.",  "1.2.3",    "a..b",       "-a.org",      "a b.org",      "a/b.org",
        "a@b.org",    "exämple.org", "a.org:80", "[a.org]",    "[127.0.0.1]", "fe80::1%eth0", "::1]",
        "a%00.org",   "１２７.0.0.1"}) {
    EXPECT_FALSE(parse_destination(host, 80)) << host;
  }
  EXPECT_FALSE(parse_destination("example.org", 0));
  EXPECT_FALSE(parse_destination(std::string("a\0.org", 6), 80));
  EXPECT_FALSE(parse_destination(std::string(254, 'a'), 80));
  EXPECT_EQ(to("[::1]").address, Address::parse("::1"));
  EXPECT_EQ(to("xn--exmple-cua.org").name, "xn--exmple-cua.org");
}

TEST(Policy, InvalidRules_SayWhy) {
  for (const char* text :
       {"",          "*.",      "a.*.org",      "*a.org",      "**",        "a.org:",      "a.org:0", "a.org:65536",
        "a.org:9-8", "a.org:x", "10.0.0.1/8",   "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "::/129",  "[::1",
        "[::1]x",    "1.2.3",   "http://a.org", "a.org/path"}) {
    const auto rule = parse_rule(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_EQ(rule.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(rule.error().message, HasSubstr("invalid"));
  }
}

TEST(Policy, RuleAsText_IsReadBackTheSame) {
  for (const char* text :
       {"*", "*.a.org", "a.org:22", "b.net:8000-8002", "10.0.0.0/8", "[2001:4860::]/32:53", "[::1]:80"}) {
    const Rule rule = parse_rule(text).value();
    EXPECT_EQ(rule.text(), text);
    EXPECT_EQ(parse_rule(rule.text()).value(), rule);
  }
}

class Requests : public ::testing::Test {
 protected:
  bool may(const Policy& policy, std::string_view method, std::string_view path) {
    return decide_request(policy, to("api.org"), Address::parse("8.8.8.8").value(), method, path).allowed;
  }
  static Rule restricted(std::vector<std::string> methods, std::vector<std::string> paths) {
    Rule rule = parse_rule("api.org").value();
    rule.methods = std::move(methods);
    rule.paths = std::move(paths);
    return rule;
  }
};

TEST_F(Requests, MethodsAndPaths_AreBothNeeded) {
  const Policy policy{
      .network = Network::allow_list, .allow = {restricted({"GET", "HEAD"}, {"/v1", "/open/"})}, .deny = {}};
  EXPECT_TRUE(may(policy, "GET", "/v1"));
  EXPECT_TRUE(may(policy, "HEAD", "/v1/a"));
  EXPECT_TRUE(may(policy, "GET", "/open/x"));
  EXPECT_FALSE(may(policy, "GET", "/v10"));
  EXPECT_FALSE(may(policy, "POST", "/v1"));
  EXPECT_FALSE(may(policy, "get", "/v1"));
  EXPECT_FALSE(may(policy, "GET", "/"));
}

TEST_F(Requests, PathThatCouldBeReadAsAnother_MatchesNoAllowance) {
  const Policy policy{.network = Network::allow_list, .allow = {restricted({}, {"/v1"})}, .deny = {}};
  for (const char* path : {"/v1/../admin", "/v1/..", "/v1/%2e%2e/admin", "/v1/.%2E/admin", "/v1%2f..%2fadmin", "/v1//x",
                           "/v1/%c0%ae%c0%ae/admin", "/v1/%e0%80%ae./admin", "/v1%c0%afx", "/v1\\..\\admin", "/v1/%5c",
                           "/v1/%252e", "/v1/./x", "/v1/..;/admin", "/v1/%00"}) {
    EXPECT_FALSE(may(policy, "GET", path)) << path;
  }
}

TEST_F(Requests, PathThatCouldBeReadAsAnother_MatchesEveryDenial) {
  const Policy policy{.network = Network::internet, .allow = {}, .deny = {restricted({}, {"/admin"})}};
  EXPECT_TRUE(may(policy, "GET", "/v1"));
  EXPECT_FALSE(may(policy, "GET", "/admin/x"));
  EXPECT_FALSE(may(policy, "GET", "/v1/../admin"));
}

TEST_F(Requests, RulesAboutRequests_NeedBytesThatCanBeRead) {
  const Policy allows{.network = Network::allow_list, .allow = {restricted({"GET"}, {})}, .deny = {}};
  EXPECT_FALSE(decide_destination(allows, to("api.org"), Carriage::opaque).allowed);
  EXPECT_TRUE(decide_destination(allows, to("api.org"), Carriage::requests).allowed);
  const Policy denies{.network = Network::internet, .allow = {}, .deny = {restricted({"DELETE"}, {})}};
  EXPECT_FALSE(decide_destination(denies, to("api.org"), Carriage::opaque).allowed);
  EXPECT_TRUE(decide_destination(denies, to("api.org"), Carriage::requests).allowed);
  EXPECT_FALSE(may(denies, "DELETE", "/"));
  EXPECT_TRUE(may(denies, "GET", "/"));
}

TEST_F(Requests, SecretRule_IsFoundForItsHostAlone) {
  Rule rule = parse_rule("api.org:443").value();
  rule.secret = SecretUse{.secret = "key", .where = SecretUse::Where::header, .name = "Authorization"};
  const Policy policy{.network = Network::internet, .allow = {rule}, .deny = {}};
  ASSERT_NE(find_secret_rule(policy, to("API.org.")), nullptr);
  EXPECT_EQ(find_secret_rule(policy, to("api.org", 80)), nullptr);
  EXPECT_EQ(find_secret_rule(policy, to("www.api.org")), nullptr);
}

}  // namespace
}  // namespace cloche::egress
