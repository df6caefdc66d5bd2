#include "auth/authenticator.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "auth/testing/jwt_maker.hpp"
#include "auth/testing/scratch.hpp"
#include "auth/tokens/token_file.hpp"

namespace cloche::auth {
namespace {

using namespace testing;
using namespace std::chrono_literals;

constexpr const char* good_claims =
    R"({"iss":"id","aud":"cloche","exp":1900000600,"tenant":"acme","role":"admin","jti":"j1"})";

std::string text_of(const Authenticated<Principal>& outcome) {
  if (!outcome) return std::string(to_string(outcome.error().reason));
  return outcome->tenant + " " + std::string(to_string(outcome->role));
}

TEST(BearerToken, IsTakenFromTheHeader) {
  EXPECT_EQ(bearer_token("Bearer abc"), "abc");
  EXPECT_EQ(bearer_token("bEARER   a.b-c_~+/="), "a.b-c_~+/=");
  for (const std::string& header :
       {std::string(), std::string("Bearer"), std::string("Bearer "), std::string("Bearerabc"),
        std::string("Basic YTpi"), std::string("abc"), std::string(" Bearer abc"), std::string("Bearer abc "),
        std::string("Bearer a b"), std::string("Bearer\tabc"), std::string("Bearer a,Bearer b"),
        std::string("Bearer a\0b", 10), std::string("Bearer \xc3\xa4"),
        "Bearer " + std::string(longest_jwt + 1, 'a')}) {
    EXPECT_FALSE(bearer_token(header)) << header;
  }
}

TEST(AuthenticatorWithoutTokens, LocalCaller_IsTheDefaultAdmin) {
  auto open = Authenticator::open({});
  ASSERT_TRUE(open);
  EXPECT_FALSE(open->needs_token());
  EXPECT_EQ(*open->authenticate(std::nullopt, PeerPlace::local), (Principal{"default", Role::admin, ""}));
  EXPECT_EQ(text_of(open->authenticate(std::nullopt, PeerPlace::remote)), "not_local");
}

TEST(AuthenticatorWithoutTokens, HeaderOfALocalCaller_IsNotLookedAt) {
  auto open = Authenticator::open({});
  const Principal admin{"default", Role::admin, ""};
  for (const char* header : {"Bearer", "Bearer ", "Bearer some-token", "Bearer a.b.c", "Basic YTpi", ""}) {
    EXPECT_EQ(*open->authenticate(header, PeerPlace::local), admin) << header;
    EXPECT_EQ(text_of(open->authenticate(header, PeerPlace::remote)), "not_local") << header;
  }
}

TEST(AuthenticatorWithoutTokens, CallerWithATokenOfOurs_IsNotMadeAdmin) {
  auto open = Authenticator::open({});
  for (const PeerPlace peer : {PeerPlace::local, PeerPlace::remote}) {
    EXPECT_EQ(text_of(open->authenticate("Bearer " + make_token().text(), peer)), "unknown");
    EXPECT_EQ(text_of(open->authenticate("Bearer " + make_token().e2b_key(), peer)), "unknown");
    EXPECT_EQ(text_of(open->authenticate("Bearer cloche_x", peer)), "malformed");
  }
}

struct AuthenticatorTest : ::testing::Test {
  AuthenticatorTest() {
    const auto user_token = file.create({.tenant = "acme", .role = Role::user, .expires = clock.wall + 100s});
    const auto admin_token = file.create({.tenant = "ops", .role = Role::admin});
    user = "Bearer " + user_token->text;
    admin = "Bearer " + admin_token->text;
    admin_id = admin_token->record.id;
    put_file(key_path, jwks({ec_jwk(ec, R"("kid":"a",)")}), 0644);
    auto opened = Authenticator::open(options(), clock.clocks());
    if (!opened) throw std::runtime_error(opened.error().message);
    auth.emplace(*std::move(opened));
  }

  AuthOptions options() const {
    return {.token_file = file.path(),
            .jwt = JwtOptions{
                .key_file = key_path, .key_form = KeyForm::jwks, .claims = {.issuer = "id", .audience = "cloche"}}};
  }
  std::string ask(std::optional<std::string_view> header, PeerPlace peer = PeerPlace::remote) {
    return text_of(auth->authenticate(header, peer));
  }
  std::string jwt(const KeyPair& key, const char* kid = "a", std::string_view claims = good_claims) const {
    return "Bearer " + es256_jwt(key, claims, R"({"alg":"ES256","kid":")" + std::string(kid) + "\"}");
  }

  ScratchDir dir;
  HandClock clock;
  TokenFile file{dir / "tokens.json", clock.clocks()};
  std::string key_path = dir / "keys.json";
  KeyPair ec = make_ec();
  std::string user, admin, admin_id;
  std::optional<Authenticator> auth;
};

TEST_F(AuthenticatorTest, OwnToken_IsItsPrincipal) {
  EXPECT_TRUE(auth->needs_token());
  EXPECT_EQ(ask(user), "acme user");
  EXPECT_EQ(*auth->authenticate(admin, PeerPlace::remote), (Principal{"ops", Role::admin, admin_id}));
}

TEST_F(AuthenticatorTest, NoToken_IsMissingEvenForLocalCallers) {
  EXPECT_EQ(ask(std::nullopt, PeerPlace::local), "missing");
  EXPECT_EQ(ask(std::nullopt, PeerPlace::remote), "missing");
}

TEST_F(AuthenticatorTest, WrongTokens_AreUnknownOrMalformed) {
  EXPECT_EQ(ask("Bearer " + make_token().text()), "unknown");
  std::string changed = user;
  changed.back() = changed.back() == '0' ? '1' : '0';
  EXPECT_EQ(ask(changed), "unknown");
  EXPECT_EQ(ask(user + "0"), "malformed");
  EXPECT_EQ(ask("Bearer cloche_"), "malformed");
  EXPECT_EQ(ask("Bearer abc"), "malformed");
  EXPECT_EQ(ask("Bearer a.b.c"), "malformed");
  for (const char* header : {"", "Bearer", "Bearer ", "Basic YTpi"}) EXPECT_EQ(ask(header), "no_bearer") << header;
  EXPECT_EQ(auth->authenticate("Bearer abc", PeerPlace::remote).error().message,
            "invalid token: neither a Cloche token (cloche_...) nor a JWT");
  EXPECT_EQ(auth->authenticate("Bearer ", PeerPlace::remote).error().message,
            "not a bearer token; send Authorization: Bearer TOKEN");
  const auto refusal = auth->authenticate(changed, PeerPlace::remote).error();
  EXPECT_EQ((refusal.message + refusal.detail).find("cloche_"), std::string::npos);
}

TEST_F(AuthenticatorTest, ExpiredToken_IsSaid) {
  clock.pass(100s);
  EXPECT_EQ(ask(user), "expired");
  EXPECT_EQ(ask(admin), "ops admin");
}

TEST_F(AuthenticatorTest, RevokedToken_IsUnknownWithinASecond) {
  EXPECT_EQ(ask(admin), "ops admin");
  ASSERT_TRUE(file.revoke(admin_id));
  clock.pass(1s);
  EXPECT_EQ(ask(admin), "unknown");
  EXPECT_EQ(ask(user), "acme user");
  const auto made = file.create({.tenant = "new"});
  clock.pass(1s);
  EXPECT_EQ(ask("Bearer " + made->text), "new user");
}

TEST_F(AuthenticatorTest, LastTokenRevoked_LetsNobodyIn) {
  const auto records = file.list();
  for (const auto& record : *records) ASSERT_TRUE(file.revoke(record.id));
  clock.pass(1s);
  EXPECT_EQ(ask(admin), "unknown");
  EXPECT_EQ(ask(std::nullopt, PeerPlace::local), "missing");
}

TEST_F(AuthenticatorTest, FileThatIsDamagedGoneOrOpen_LetsNobodyInByItAndSaysWhyInTheLog) {
  const std::string good = file_text(file.path());
  const auto refused = [&] {
    clock.pass(1s);
    EXPECT_EQ(ask(user), "unavailable");
    EXPECT_EQ(ask(std::nullopt, PeerPlace::local), "missing");
    EXPECT_EQ(ask(jwt(ec)), "acme admin") << "JWTs do not depend on it";
    const auto refusal = auth->authenticate(user, PeerPlace::remote).error();
    EXPECT_NE(refusal.detail.find(file.path()), std::string::npos) << refusal.detail;
    EXPECT_EQ(refusal.message.find(file.path()), std::string::npos) << refusal.message;
  };
  put_file(file.path(), good.substr(0, good.size() / 2));
  refused();
  put_file(file.path(), "");
  refused();
  put_file(file.path(), good, 0644);
  refused();
  std::filesystem::remove(file.path());
  refused();
  put_file(file.path(), good);
  clock.pass(1s);
  EXPECT_EQ(ask(user), "acme user");
}

TEST_F(AuthenticatorTest, Jwt_IsItsPrincipal) {
  EXPECT_EQ(*auth->authenticate(jwt(ec), PeerPlace::remote), (Principal{"acme", Role::admin, "j1"}));
  const auto unnamed = auth->authenticate(
      jwt(ec, "a", R"({"iss":"id","aud":"cloche","exp":1900000600,"tenant":"acme"})"), PeerPlace::remote);
  EXPECT_TRUE(unnamed->token_id.starts_with("jwt-")) << unnamed->token_id;
  EXPECT_EQ(unnamed->token_id.size(), 20U);
}

TEST_F(AuthenticatorTest, JwtOfAnotherKey_IsUnknownBeforeItsClaimsAreRead) {
  EXPECT_EQ(ask(jwt(make_ec())), "unknown");
  EXPECT_EQ(ask(jwt(ec, "b")), "unknown");
  EXPECT_EQ(ask(jwt(make_ec(), "a", "not even JSON")), "unknown");
  EXPECT_EQ(ask(jwt(ec, "a", "not even JSON")), "malformed");
  EXPECT_EQ(ask("Bearer " + hs256_jwt(file_text(key_path), good_claims, R"({"alg":"HS256","kid":"a"})")), "unknown");
  const std::string unsigned_part = signed_part(R"({"alg":"none"})", good_claims);
  EXPECT_EQ(ask("Bearer " + unsigned_part + "."), "malformed");
  EXPECT_EQ(ask("Bearer " + unsigned_part + ".AAAA"), "malformed");
}

TEST_F(AuthenticatorTest, JwtOfAnotherTimeOrService_IsToldApart) {
  EXPECT_EQ(ask(jwt(ec, "a", R"({"iss":"id","aud":"other","exp":1900000600,"tenant":"acme"})")), "wrong_claims");
  EXPECT_EQ(ask(jwt(ec, "a", R"({"iss":"id","aud":"cloche","exp":1900000600,"nbf":1900000300,"tenant":"acme"})")),
            "not_yet_valid");
  clock.pass(630s);
  EXPECT_EQ(ask(jwt(ec)), "expired");
}

TEST_F(AuthenticatorTest, RotatedKeys_AreTakenAndOldOnesLeft) {
  EXPECT_EQ(ask(jwt(ec)), "acme admin");
  const KeyPair next = make_ec();
  put_file(key_path, jwks({ec_jwk(ec, R"("kid":"a",)"), ec_jwk(next, R"("kid":"b",)")}), 0644);
  clock.pass(1s);
  EXPECT_EQ(ask(jwt(next, "b")), "acme admin");
  EXPECT_EQ(ask(jwt(ec)), "acme admin");
  put_file(key_path, jwks({ec_jwk(next, R"("kid":"b",)")}), 0644);
  clock.pass(1s);
  EXPECT_EQ(ask(jwt(ec)), "unknown");
  put_file(key_path, "{", 0644);
  clock.pass(1s);
  EXPECT_EQ(ask(jwt(next, "b")), "unavailable");
  EXPECT_EQ(ask(user), "acme user");
}

TEST_F(AuthenticatorTest, BadConfiguration_IsFoundAtTheStart) {
  const auto opens = [&](auto change) {
    AuthOptions changed = options();
    change(changed);
    return Authenticator::open(std::move(changed), clock.clocks()).has_value();
  };
  EXPECT_TRUE(opens([](AuthOptions&) {}));
  EXPECT_FALSE(opens([&](AuthOptions& o) { o.token_file = dir / "none"; }));
  EXPECT_FALSE(opens([&](AuthOptions& o) { o.token_file = ""; }));
  EXPECT_FALSE(opens([&](AuthOptions& o) { o.token_file = key_path; }));
  EXPECT_FALSE(opens([&](AuthOptions& o) { o.jwt->key_file = dir / "none"; }));
  EXPECT_FALSE(opens([&](AuthOptions& o) { o.jwt->key_form = KeyForm::pem; }));
  EXPECT_FALSE(opens([&](AuthOptions& o) { o.jwt->claims.issuer = ""; }));
}

}  // namespace
}  // namespace cloche::auth
