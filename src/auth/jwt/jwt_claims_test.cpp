#include "auth/jwt/jwt_claims.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cloche::auth {
namespace {

using namespace std::chrono_literals;

const WallTime time_of_check{1'900'000'000s};
const ClaimRules rules{.issuer = "https://id.example", .audience = "cloche"};

// Good claims with some replaced, added, or (empty) left out.
std::string claims(std::vector<std::pair<std::string, std::string>> changes = {}) {
  std::vector<std::pair<std::string, std::string>> members = {
      {"iss", "\"https://id.example\""}, {"aud", "\"cloche\""}, {"exp", "1900000600"}, {"tenant", "\"acme\""}};
  for (auto& change : changes) {
    std::erase_if(members, [&](const auto& member) { return member.first == change.first; });
    if (!change.second.empty()) members.push_back(std::move(change));
  }
  std::string text;
  for (const auto& [name, value] : members) {
    text.append(text.empty() ? "{\"" : ",\"").append(name).append("\":").append(value);
  }
  return text.empty() ? "{}" : text + "}";
}

// The tenant and role, or the reason of the refusal.
std::string outcome(const std::string& text, const ClaimRules& by = rules, WallTime at = time_of_check) {
  const auto principal = principal_of(text, by, at, "fallback");
  if (!principal) return std::string(to_string(principal.error().reason));
  return principal->tenant + " " + std::string(to_string(principal->role));
}

TEST(JwtClaims, WhatIsNeeded_MakesAUser) {
  EXPECT_EQ(outcome(claims()), "acme user");
  EXPECT_EQ(principal_of(claims(), rules, time_of_check, "fallback")->token_id, "fallback");
}

TEST(JwtClaims, Role_IsUserOrAdminAlone) {
  EXPECT_EQ(outcome(claims({{"role", "\"admin\""}})), "acme admin");
  EXPECT_EQ(outcome(claims({{"role", "\"user\""}})), "acme user");
  for (const char* role : {"\"Admin\"", "\"root\"", "\"\"", "null", "true", "1", "[\"admin\"]", "{\"admin\":1}"}) {
    EXPECT_EQ(outcome(claims({{"role", role}})), "wrong_claims") << role;
  }
}

TEST(JwtClaims, Issuer_MustBeOurs) {
  for (const char* issuer : {"", "\"\"", "\"https://id.example/\"", "\"https://ID.example\"", "null",
                             "[\"https://id.example\"]", "\"https://id.example\\u0000\""}) {
    EXPECT_EQ(outcome(claims({{"iss", issuer}})), "wrong_claims") << issuer;
  }
}

TEST(JwtClaims, Audience_IsAStringOrAnArrayWithOurs) {
  EXPECT_EQ(outcome(claims({{"aud", "[\"other\",\"cloche\"]"}})), "acme user");
  EXPECT_EQ(outcome(claims({{"aud", "[\"cloche\"]"}})), "acme user");
  for (const char* audience : {"", "\"\"", "\"other\"", "\"cloche \"", "[]", "[\"other\"]", "null", "[[\"cloche\"]]",
                               "{\"cloche\":1}", "[\"cloche\",1]", "[\"cloche\",null]"}) {
    EXPECT_EQ(outcome(claims({{"aud", audience}})), "wrong_claims") << audience;
  }
}

TEST(JwtClaims, Expiry_IsNeededAndHasALeeway) {
  EXPECT_EQ(outcome(claims(), rules, WallTime{1'900'000'629s}), "acme user");
  EXPECT_EQ(outcome(claims(), rules, WallTime{1'900'000'630s}), "expired");
  EXPECT_EQ(outcome(claims({{"exp", "0"}})), "expired");
  EXPECT_EQ(outcome(claims({{"exp", "1900000600.75"}})), "acme user");
  EXPECT_EQ(outcome(claims({{"exp", "1.9000006e9"}})), "acme user");
  for (const char* expiry : {"", "null", "\"1900000600\"", "-1", "1e300", "9223372036854775807", "18446744073709551615",
                             "99999999999999999999999", "[1900000600]", "253402300800", "true"}) {
    EXPECT_EQ(outcome(claims({{"exp", expiry}})), "wrong_claims") << expiry;
  }
  EXPECT_EQ(outcome(claims({{"exp", "253402300799"}})), "acme user");
}

TEST(JwtClaims, TimesToCome_AreNotYetValidBeyondTheLeeway) {
  for (const char* name : {"nbf", "iat"}) {
    EXPECT_EQ(outcome(claims({{name, "1900000000"}})), "acme user");
    EXPECT_EQ(outcome(claims({{name, "1900000030"}})), "acme user");
    EXPECT_EQ(outcome(claims({{name, "1900000031"}})), "not_yet_valid");
    EXPECT_EQ(outcome(claims({{name, "null"}})), "wrong_claims");
    EXPECT_EQ(outcome(claims({{name, "\"1\""}})), "wrong_claims");
    EXPECT_EQ(outcome(claims({{name, "-1"}})), "wrong_claims");
  }
}

TEST(JwtClaims, Tenant_IsNeededAndAName) {
  for (const char* tenant : {"", "null", "\"\"", "\"..\"", "\"a/b\"", "\"a\\u0000b\"", "1", "[\"acme\"]"}) {
    EXPECT_EQ(outcome(claims({{"tenant", tenant}})), "wrong_claims") << tenant;
  }
}

TEST(JwtClaims, OtherNamesOfClaims_AreLookedUpAsTheyAre) {
  ClaimRules renamed = rules;
  renamed.tenant_claim = "https://id.example/org";
  renamed.role_claim = "cloche.role";
  EXPECT_EQ(outcome(claims({{"https://id.example/org", "\"org-1\""}, {"cloche.role", "\"admin\""}}), renamed),
            "org-1 admin");
  EXPECT_EQ(outcome(claims({{"role", "\"admin\""}}), renamed), "wrong_claims");
}

TEST(JwtClaims, TokenId_IsTheTokensOwnWhereItIsAName) {
  EXPECT_EQ(principal_of(claims({{"jti", "\"id-7\""}}), rules, time_of_check, "fallback")->token_id, "id-7");
  for (const char* id : {"\"a b\"", "\"\"", "7", "null"}) {
    EXPECT_EQ(principal_of(claims({{"jti", id}}), rules, time_of_check, "fallback")->token_id, "fallback") << id;
  }
}

TEST(JwtClaims, TextThatIsNoStrictObject_IsMalformed) {
  for (const std::string& text :
       {std::string("[]"), std::string("x"), std::string(), claims() + "x", R"({"tenant":"acme",)" + claims().substr(1),
        std::string("{\"a\":") + std::string(2000, '[')}) {
    EXPECT_EQ(outcome(text), "malformed") << text;
  }
}

TEST(ClaimRules, ThatMakeNoSense_AreRefused) {
  EXPECT_TRUE(check_rules(rules));
  const auto with = [](auto change) {
    ClaimRules changed = rules;
    change(changed);
    return check_rules(changed);
  };
  EXPECT_FALSE(with([](ClaimRules& r) { r.issuer.clear(); }));
  EXPECT_FALSE(with([](ClaimRules& r) { r.audience.clear(); }));
  EXPECT_FALSE(with([](ClaimRules& r) { r.tenant_claim.clear(); }));
  EXPECT_FALSE(with([](ClaimRules& r) { r.role_claim = "tenant"; }));
  EXPECT_FALSE(with([](ClaimRules& r) { r.leeway = -1s; }));
  EXPECT_FALSE(with([](ClaimRules& r) { r.leeway = 301s; }));
}

}  // namespace
}  // namespace cloche::auth
