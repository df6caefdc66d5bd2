#include "dialect/e2b/control/bodies.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace cloche::dialect::e2b {
namespace {

using namespace std::chrono_literals;

constexpr TimeoutRule a_day{.most = 24h};

Result<NewSandbox> read(const std::string& text, ApiVersion version = ApiVersion::v2) {
  return read_new_sandbox(boost::json::parse(text), version, a_day);
}

TEST(NewSandboxBody, Defaults_DifferByVersion) {
  EXPECT_EQ(read(R"({"templateID":"base"})", ApiVersion::v1)->timeout, 15s);
  EXPECT_EQ(read(R"({"templateID":"base"})", ApiVersion::v2)->timeout, 300s);
  const auto wanted = read(R"({"templateID":"base"})");
  EXPECT_TRUE(wanted->secure);
  EXPECT_FALSE(wanted->auto_pause);
  EXPECT_FALSE(wanted->auto_resume);
  EXPECT_FALSE(wanted->network.policy);
  EXPECT_FALSE(wanted->network.internet);
}

TEST(NewSandboxBody, DefaultTimeout_IsNotOverTheOperatorsMost) {
  const TimeoutRule short_rule{.most = 60s};
  const auto wanted = read_new_sandbox(boost::json::parse(R"({"templateID":"base"})"), ApiVersion::v2, short_rule);
  EXPECT_EQ(wanted->timeout, 60s);
}

TEST(NewSandboxBody, EveryField_IsRead) {
  const auto wanted = read(R"({"templateID":"t/x:latest","timeout":60,"metadata":{"a":"b"},"envVars":{"K":"V"},
    "secure":false,"allow_internet_access":true,"autoPause":true,"autoPauseMemory":false,"autoResume":{"enabled":true},
    "network":{"allowPublicTraffic":false},"mcp":{},"unknown":[1]})");
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(wanted->template_id, "t/x:latest");
  EXPECT_EQ(wanted->timeout, 60s);
  EXPECT_EQ(wanted->metadata.at("a"), "b");
  EXPECT_EQ(wanted->env.at("K"), "V");
  EXPECT_FALSE(wanted->secure);
  EXPECT_TRUE(wanted->auto_pause);
  EXPECT_TRUE(wanted->auto_resume);
  EXPECT_EQ(wanted->network.public_traffic, false);
  EXPECT_FALSE(wanted->network.policy) << "the profile's";
}

TEST(NewSandboxBody, InvalidValue_NamesTheField) {
  for (const auto& [text, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({})", "templateID"},
           {R"({"templateID":""})", "templateID"},
           {R"({"templateID":7})", "templateID"},
           {R"({"templateID":"b","timeout":0})", "timeout"},
           {R"({"templateID":"b","timeout":-1})", "timeout"},
           {R"({"templateID":"b","timeout":86401})", "timeout"},
           {R"({"templateID":"b","timeout":1.5})", "timeout"},
           {R"({"templateID":"b","timeout":"60"})", "timeout"},
           {R"({"templateID":"b","metadata":{"a":1}})", "metadata"},
           {R"({"templateID":"b","envVars":[]})", "envVars"},
           {R"({"templateID":"b","secure":"no"})", "secure"},
           {R"({"templateID":"b","autoResume":1})", "autoResume"},
           {R"({"templateID":"b","network":{"allowOut":"x"}})", "allowOut"}}) {
    const auto wanted = read(text);
    ASSERT_FALSE(wanted) << text;
    EXPECT_EQ(wanted.error().code, ErrorCode::invalid_argument) << text;
    EXPECT_NE(wanted.error().message.find(field), std::string::npos) << wanted.error().message;
  }
  EXPECT_FALSE(read("[]"));
}

TEST(NewSandboxBody, WhatClocheHasNot_IsUnsupported) {
  for (const char* text : {R"({"templateID":"b","network":{"egressProxy":{"address":"x"}}})",
                           R"({"templateID":"b","network":{"rules":{"a":[]}}})",
                           R"({"templateID":"b","volumeMounts":[{"name":"a","path":"/b"}]})"}) {
    EXPECT_EQ(read(text).error().code, ErrorCode::unsupported) << text;
  }
  EXPECT_TRUE(read(R"({"templateID":"b","network":{"rules":{},"egressProxy":null},"volumeMounts":[]})"));
}

TEST(Network, HostAndPortsOfItsServers_AreRead) {
  const auto wanted =
      read(R"({"templateID":"b","network":{"maskRequestHost":"app.example:${PORT}","httpsPorts":[8443]}})");
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(wanted->network.mask_host, "app.example:${PORT}");
  EXPECT_EQ(wanted->network.https_ports, std::vector<std::uint16_t>{8443});
  EXPECT_FALSE(wanted->network.policy) << "they say nothing of the way out";
  for (const char* network : {R"({"maskRequestHost":"a\r\nX: y"})", R"({"maskRequestHost":"a b"})",
                              R"({"maskRequestHost":7})", R"({"maskRequestHost":"${HOST}"})", R"({"httpsPorts":[0]})",
                              R"({"httpsPorts":[65536]})", R"({"httpsPorts":["x"]})", R"({"httpsPorts":8443})"}) {
    const auto refused = read(R"({"templateID":"b","network":)" + std::string(network) + "}");
    ASSERT_FALSE(refused) << network;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument) << network;
  }
}

TEST(Network, NoInternet_IsNoNetwork) {
  const auto wanted = read(R"({"templateID":"b","allow_internet_access":false})");
  ASSERT_TRUE(wanted->network.policy);
  EXPECT_EQ(*wanted->network.policy, NetworkPolicy{});
  const auto denied = read(R"({"templateID":"b","network":{"denyOut":["0.0.0.0/0"]}})");
  EXPECT_EQ(*denied->network.policy, NetworkPolicy{});
}

TEST(Network, ListsOfDestinations_BecomeAPolicy) {
  const auto some =
      read(R"({"templateID":"b","allow_internet_access":false,"network":{"allowOut":["api.example.com"]}})");
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_EQ(some->network.policy->mode, Network::allow_list);
  EXPECT_EQ(some->network.policy->allow.size(), 1U);
  EXPECT_EQ(some->network.shown, R"({"allowOut":["api.example.com"]})");
  const auto most = read_network_update(boost::json::parse(R"({"denyOut":["1.2.3.4"]})"));
  EXPECT_EQ(most->policy->mode, Network::internet);
  EXPECT_FALSE(read_network_update(boost::json::parse("{}"))->policy);
  EXPECT_FALSE(read_network_update(boost::json::parse(R"({"denyOut":["example.com"]})")));
}

TEST(Network, TooManyDestinations_AreRefused) {
  boost::json::array many;
  for (int i = 0; i < 257; ++i) many.emplace_back("10.0.0.1");
  boost::json::object body;
  body["denyOut"] = many;
  EXPECT_FALSE(read_network_update(body));
  body["denyOut"] = boost::json::array{std::string(254, 'a')};
  EXPECT_FALSE(read_network_update(body));
}

TEST(TimeoutBody, Timeout_IsRequiredUnlessThereIsADefault) {
  const auto empty = boost::json::parse("{}");
  EXPECT_FALSE(read_timeout(empty, a_day, std::nullopt));
  EXPECT_EQ(*read_timeout(empty, a_day, 300s), 300s);
  const auto zero = boost::json::parse(R"({"timeout":0})");
  EXPECT_FALSE(read_timeout(zero, a_day, std::nullopt));
  EXPECT_EQ(*read_timeout(zero, {.most = 24h, .least = 0s}, std::nullopt), 0s);
}

TEST(DurationBody, MoreThanAnHour_IsRefused) {
  EXPECT_EQ(*read_duration(boost::json::parse("{}")), 15s);
  EXPECT_EQ(*read_duration(boost::json::parse(R"({"duration":3600})")), 3600s);
  EXPECT_FALSE(read_duration(boost::json::parse(R"({"duration":3601})")));
}

TEST(ForkBody, Count_IsFromOneToAHundred) {
  EXPECT_EQ(read_fork(boost::json::parse("{}"), a_day)->count, 1U);
  EXPECT_EQ(read_fork(boost::json::parse(R"({"count":100,"timeout":5})"), a_day)->timeout, 5s);
  for (const char* text : {R"({"count":0})", R"({"count":101})", R"({"timeout":0})"}) {
    EXPECT_FALSE(read_fork(boost::json::parse(text), a_day)) << text;
  }
}

TEST(TemplateAlias, TeamAndTag_AreLeftOut) {
  EXPECT_EQ(*template_alias("base"), "base");
  EXPECT_EQ(*template_alias("team/base"), "base");
  EXPECT_EQ(*template_alias("team/base:latest"), "base");
  EXPECT_EQ(*template_alias("base:default"), "base");
  for (const char* text : {"base:v2", "team/", ":latest", "base:"}) {
    const auto alias = template_alias(text);
    ASSERT_FALSE(alias) << text;
    EXPECT_EQ(alias.error().code, ErrorCode::not_found);
  }
}

}  // namespace
}  // namespace cloche::dialect::e2b
