// Which network a claim gets, by what its tenant may do.
#include "pool/outlets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace cloche::pool {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;

NetworkPolicy allow_list_with(std::vector<std::string> rules, std::vector<std::string> allow = {}) {
  return {.mode = Network::allow_list, .rules = std::move(rules), .allow = std::move(allow), .deny = {}};
}

struct OutletsTest : ::testing::Test {
  OutletsTest() {
    EgressRule rule;
    rule.host = "10.0.0.0/8:5432";
    options.egress.rules["database"].allow = {rule};
    access.set(auth::Resource::rule_set, "database", auth::AccessList({"acme"}));
    access.set(auth::Resource::network, std::string(auth::own_network), auth::AccessList({"acme", "guest"}));
  }
  std::unique_ptr<Outlets> make() {
    auto made = Outlets::create(io.get_executor(), options, access, {});
    if (!made) ADD_FAILURE() << made.error().message;
    return made ? std::move(*made) : nullptr;
  }
  static ClaimOptions claim_of(std::string tenant, std::optional<NetworkPolicy> network) {
    ClaimOptions claim;
    claim.tenant = std::move(tenant);
    claim.network = std::move(network);
    return claim;
  }

  asio::io_context io;
  ManagerOptions options;
  auth::AccessTable access;
};

TEST_F(OutletsTest, ClaimThatSaysNothing_HasTheNetworkOfItsProfile) {
  const auto outlets = make();
  Profile profile;
  EXPECT_EQ(outlets->policy_for(profile, claim_of("other", {}))->network, Network::none);
  profile.network = allow_list_with({"database"}, {"127.0.0.1:80"});
  const auto policy = outlets->policy_for(profile, claim_of("other", {}));
  ASSERT_TRUE(policy) << "a profile's network is for all who may use the profile";
  EXPECT_EQ(policy->allow.size(), 2u);
}

TEST_F(OutletsTest, ClaimOfATenant_HasItsRightsAlone) {
  const auto outlets = make();
  const Profile profile;
  EXPECT_TRUE(outlets->policy_for(profile, claim_of("acme", allow_list_with({"database"}))));
  EXPECT_TRUE(outlets->policy_for(profile, claim_of("guest", allow_list_with({}, {"a.net"}))));
  EXPECT_TRUE(outlets->policy_for(profile, claim_of("other", NetworkPolicy())));
  EXPECT_EQ(outlets->policy_for(profile, claim_of("guest", allow_list_with({"database"}))).error().code,
            ErrorCode::not_found);
  EXPECT_EQ(outlets->policy_for(profile, claim_of("other", allow_list_with({}, {"a.net"}))).error().code,
            ErrorCode::not_found);
  EXPECT_EQ(outlets->policy_for(profile, claim_of("acme", allow_list_with({}, {"10.0.0.1"}))).error().code,
            ErrorCode::invalid_argument);
}

TEST_F(OutletsTest, ProfileWithGpusAndWithoutANetwork_GetsNone) {
  const auto outlets = make();
  Profile profile;
  profile.sandbox.gpus.count = 1;
  const auto claim = claim_of("acme", allow_list_with({"database"}));
  EXPECT_EQ(outlets->policy_for(profile, claim).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(outlets->policy_for(profile, claim_of("acme", NetworkPolicy())));
  profile.network = allow_list_with({"database"});
  EXPECT_TRUE(outlets->policy_for(profile, claim));
}

TEST_F(OutletsTest, ProgramThatEmbedsTheLibrary_IsTheOperator) {
  access = auth::AccessTable::of_trusted_callers();
  EXPECT_TRUE(make()->policy_for({}, claim_of("", allow_list_with({"database"}, {"127.0.0.1:1-65535"}))));
}

TEST_F(OutletsTest, Variables_AreThereWithANetworkAlone) {
  const auto outlets = make();
  EXPECT_THAT(outlets->variables_for({}), IsEmpty());
  egress::Policy policy;
  policy.network = Network::internet;
  EXPECT_THAT(outlets->variables_for(policy), Contains(Key("HTTPS_PROXY")));
  EXPECT_THAT(outlets->variables_for(policy), Contains(Key("no_proxy")));
  EXPECT_THAT(outlets->variables_for(policy), ::testing::Not(Contains(Key("SSL_CERT_FILE"))));
  EXPECT_EQ(outlets->trust_bundle_for(policy), nullptr);
}

TEST_F(OutletsTest, OptionsThatCannotBe_AreRefused) {
  options.profiles.emplace_back().name = "online";
  options.profiles.back().network = allow_list_with({"missing"});
  const auto made = Outlets::create(io.get_executor(), options, access, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(made.error().message, HasSubstr("profile 'online': no such rule set: `missing`"));
  options.profiles.clear();
  options.egress.upstream_proxy = "socks5://u:word@proxy";
  const auto proxied = Outlets::create(io.get_executor(), options, access, {});
  ASSERT_FALSE(proxied);
  EXPECT_THAT(proxied.error().message, ::testing::Not(HasSubstr("word")));
}

}  // namespace
}  // namespace cloche::pool
