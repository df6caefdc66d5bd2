#include "auth/jwt/jwt_keys.hpp"

#include <gtest/gtest.h>
#include <openssl/err.h>

#include "auth/testing/jwt_maker.hpp"
#include "core/base64.hpp"

namespace cloche::auth {
namespace {

using namespace testing;

const std::string secret = "0123456789abcdef0123456789abcdef";

Result<JwtKeys> parse(std::string content, KeyForm form, unsigned mode = 0600) {
  GuardedFile file{.content = std::move(content), .stamp = {}};
  file.stamp.mode = mode;
  return JwtKeys::parse(file, form);
}

bool accepts(const Result<JwtKeys>& keys, const std::string& token) {
  const auto jwt = parse_jwt(token);
  if (!keys || !jwt) throw std::runtime_error(keys ? jwt.error().message : keys.error().message);
  const JwtKey* key = keys->find(jwt->algorithm, jwt->key_id);
  return key && key->verifies(*jwt);
}

// RFC 7515, appendix A.1 and A.3: made by others, long ago.
constexpr const char* rfc_claims =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

TEST(JwtKeys, ExamplesOfTheStandard_Verify) {
  const auto keys = parse(
      R"({"keys":[{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"},
          {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
           "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})",
      KeyForm::jwks);
  EXPECT_TRUE(accepts(keys, std::string("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.") + rfc_claims +
                                ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
  EXPECT_TRUE(
      accepts(keys, std::string("eyJhbGciOiJFUzI1NiJ9.") + rfc_claims +
                        ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"));
}

TEST(JwtKeys, EachForm_VerifiesItsOwnAndNoOther) {
  const KeyPair rsa = make_rsa();
  const KeyPair ec = make_ec();
  const auto by_rsa = parse(public_pem(rsa), KeyForm::pem);
  const auto by_ec = parse(public_pem(ec), KeyForm::pem);
  const auto by_secret = parse(secret + "\n", KeyForm::secret);
  EXPECT_TRUE(accepts(by_rsa, rs256_jwt(rsa, "{}")));
  EXPECT_TRUE(accepts(by_ec, es256_jwt(ec, "{}")));
  EXPECT_TRUE(accepts(by_secret, hs256_jwt(secret, "{}")));
  EXPECT_FALSE(accepts(by_rsa, rs256_jwt(make_rsa(), "{}")));
  EXPECT_FALSE(accepts(by_ec, es256_jwt(make_ec(), "{}")));
  EXPECT_FALSE(accepts(by_secret, hs256_jwt(secret + "x", "{}")));
  EXPECT_FALSE(accepts(by_rsa, es256_jwt(ec, "{}")));
  EXPECT_FALSE(accepts(by_ec, hs256_jwt(secret, "{}")));
  EXPECT_EQ(ERR_peek_error(), 0U) << "an error was left for the next TLS connection to stumble over";
}

TEST(JwtKeys, PublicKeyTakenForASecret_DoesNotVerify) {
  const KeyPair rsa = make_rsa();
  const std::string pem = public_pem(rsa);
  const auto keys = parse(pem, KeyForm::pem);
  EXPECT_FALSE(accepts(keys, hs256_jwt(pem, "{}")));
  EXPECT_FALSE(accepts(keys, hs256_jwt(pem.substr(0, pem.size() - 1), "{}")));
  // A token that says RS256 and carries a digest instead.
  const std::string part = signed_part(R"({"alg":"RS256"})", "{}");
  EXPECT_FALSE(accepts(keys, with_signature(part, hs256_signature(pem, part))));
}

TEST(JwtKey, TokenThatNamesAnotherAlgorithm_DoesNotVerifyThoughItsSignatureIsGood) {
  const auto key = JwtKey::from_secret(secret);
  Jwt jwt = *parse_jwt(hs256_jwt(secret, "{}"));
  EXPECT_TRUE(key->verifies(jwt));
  for (const auto algorithm : {JwtAlgorithm::rs256, JwtAlgorithm::es256}) {
    jwt.algorithm = algorithm;
    EXPECT_FALSE(key->verifies(jwt));
  }
}

TEST(JwtKeys, KeyThatTheTokenBrings_IsNotUsed) {
  const KeyPair theirs = make_ec();
  const auto keys = parse(jwks({ec_jwk(make_ec(), R"("kid":"a",)")}), KeyForm::jwks);
  const std::string header = R"({"alg":"ES256","kid":"a","jku":"https://evil.example/k","jwk":)" + ec_jwk(theirs) + "}";
  EXPECT_FALSE(accepts(keys, es256_jwt(theirs, "{}", header)));
}

TEST(JwtKeys, ChangedBits_DoNotVerify) {
  const KeyPair ec = make_ec();
  const KeyPair rsa = make_rsa();
  const auto keys = parse(jwks({ec_jwk(ec), rsa_jwk(rsa), oct_jwk(secret)}), KeyForm::jwks);
  for (const std::string& good :
       {es256_jwt(ec, R"({"a":1})"), rs256_jwt(rsa, R"({"a":1})"), hs256_jwt(secret, R"({"a":1})")}) {
    ASSERT_TRUE(accepts(keys, good));
    auto jwt = *parse_jwt(good);
    for (std::size_t i = 0; i < jwt.signature.size(); ++i) {
      Jwt changed = jwt;
      changed.signature[i] = static_cast<char>(changed.signature[i] ^ 1);
      EXPECT_FALSE(keys->find(jwt.algorithm, {})->verifies(changed)) << i;
    }
    for (const std::string& signature :
         {std::string(), jwt.signature + '\0', '\0' + jwt.signature, jwt.signature.substr(1),
          jwt.signature.substr(0, jwt.signature.size() - 1), std::string(jwt.signature.size(), '\0'),
          std::string(jwt.signature.size(), '\xff'), jwt.signature + jwt.signature}) {
      Jwt changed = jwt;
      changed.signature = signature;
      EXPECT_FALSE(keys->find(jwt.algorithm, {})->verifies(changed));
    }
    jwt.signed_part.back() = jwt.signed_part.back() == 'A' ? 'B' : 'A';
    EXPECT_FALSE(keys->find(jwt.algorithm, {})->verifies(jwt));
  }
  EXPECT_EQ(ERR_peek_error(), 0U);
}

TEST(JwtKeys, EcSignatureInDer_DoesNotVerify) {
  const KeyPair ec = make_ec();
  const auto keys = parse(public_pem(ec), KeyForm::pem);
  const std::string part = signed_part(R"({"alg":"ES256"})", "{}");
  EXPECT_TRUE(accepts(keys, with_signature(part, es256_signature(ec, part))));
  EXPECT_FALSE(accepts(keys, with_signature(part, es256_der_signature(ec, part))));
}

TEST(JwtKeys, SeveralKeys_AreFoundById) {
  const KeyPair a = make_ec();
  const KeyPair b = make_ec();
  const KeyPair rsa = make_rsa();
  const auto keys = parse(jwks({ec_jwk(a, R"("kid":"a",)"), ec_jwk(b, R"("kid":"b","alg":"ES256","use":"sig",)"),
                                rsa_jwk(rsa, R"("kid":"a","key_ops":["verify"],)")}),
                          KeyForm::jwks);
  EXPECT_TRUE(accepts(keys, es256_jwt(a, "{}", R"({"alg":"ES256","kid":"a"})")));
  EXPECT_TRUE(accepts(keys, es256_jwt(b, "{}", R"({"alg":"ES256","kid":"b"})")));
  EXPECT_TRUE(accepts(keys, rs256_jwt(rsa, "{}", R"({"alg":"RS256","kid":"a"})")));
  EXPECT_FALSE(accepts(keys, es256_jwt(a, "{}", R"({"alg":"ES256","kid":"b"})")));
  EXPECT_FALSE(accepts(keys, es256_jwt(a, "{}", R"({"alg":"ES256","kid":"c"})")));
  EXPECT_FALSE(accepts(keys, es256_jwt(a, "{}", R"({"alg":"ES256","kid":""})")));
  // Which of two is not guessed; the only one of its kind needs no name.
  EXPECT_FALSE(accepts(keys, es256_jwt(a, "{}")));
  EXPECT_FALSE(accepts(keys, es256_jwt(b, "{}")));
  EXPECT_TRUE(accepts(keys, rs256_jwt(rsa, "{}")));
}

TEST(JwtKeys, OnlyKeyOfAPem_AnswersToAnyId) {
  const KeyPair ec = make_ec();
  const auto keys = parse(public_pem(ec), KeyForm::pem);
  EXPECT_TRUE(accepts(keys, es256_jwt(ec, "{}", R"({"alg":"ES256","kid":"whatever"})")));
  EXPECT_FALSE(accepts(parse(jwks({ec_jwk(ec)}), KeyForm::jwks), es256_jwt(ec, "{}", R"({"alg":"ES256","kid":"x"})")));
}

TEST(JwtKeys, KeysThatAreNotForUs_ArePassedOver) {
  const KeyPair ec = make_ec();
  const auto keys =
      parse(jwks({R"({"kty":"OKP","crv":"Ed25519","x":"AAAA"})", R"({"kty":"EC","crv":"P-521","x":"AA","y":"AA"})",
                  ec_jwk(make_ec(), R"("use":"enc",)"), ec_jwk(make_ec(), R"("key_ops":["sign"],)"),
                  rsa_jwk(make_rsa(), R"("alg":"PS256",)"), rsa_jwk(make_rsa(), R"("alg":"RS512",)"), ec_jwk(ec)}),
            KeyForm::jwks);
  EXPECT_TRUE(accepts(keys, es256_jwt(ec, "{}")));
  EXPECT_EQ(keys->find(JwtAlgorithm::rs256, {}), nullptr);
  EXPECT_EQ(keys->find(JwtAlgorithm::hs256, {}), nullptr);
}

TEST(JwtKeys, WeakKeys_AreRefused) {
  const KeyPair small = make_rsa(1024);
  EXPECT_FALSE(parse(public_pem(small), KeyForm::pem));
  EXPECT_FALSE(parse(jwks({rsa_jwk(small)}), KeyForm::jwks));
  EXPECT_FALSE(parse(public_pem(make_rsa(2047)), KeyForm::pem));
  EXPECT_FALSE(parse(secret.substr(1), KeyForm::secret));
  EXPECT_FALSE(parse(secret.substr(1) + "\r\n", KeyForm::secret));
  EXPECT_FALSE(parse("", KeyForm::secret));
  EXPECT_FALSE(parse(std::string(1025, 'x'), KeyForm::secret));
  EXPECT_FALSE(parse(jwks({oct_jwk(secret.substr(1))}), KeyForm::jwks));
  // One weak key spoils the file, rather than being passed over unseen.
  EXPECT_FALSE(parse(jwks({ec_jwk(make_ec()), rsa_jwk(small)}), KeyForm::jwks));
  EXPECT_EQ(ERR_peek_error(), 0U);
}

TEST(JwtKeys, BrokenRsaNumbers_AreRefused) {
  const auto rsa = [](const std::string& n, const std::string& e) {
    return jwks({R"({"kty":"RSA","n":")" + n + R"(","e":")" + e + "\"}"});
  };
  const std::string key = rsa_jwk(make_rsa());
  const auto start = key.find("\"n\":\"") + 5;
  const std::string n = key.substr(start, key.find('"', start) - start);
  ASSERT_TRUE(parse(rsa(n, "AQAB"), KeyForm::jwks));
  ASSERT_TRUE(parse(rsa(n, "Aw"), KeyForm::jwks)) << "3 is an exponent";
  // 1, 2, 0, and one of 72 bits.
  for (const std::string& e : {std::string("AQ"), std::string("Ag"), std::string("AA"),
                               encode_base64url(std::string(9, '\x01')), std::string(), std::string("AQAB=")}) {
    EXPECT_FALSE(parse(rsa(n, e), KeyForm::jwks)) << e;
  }
  // Even, zero, a multiple of small primes, too long, and no numbers at all.
  for (const std::string& bad : {encode_base64url(std::string(256, '\xfe')), encode_base64url(std::string(256, '\0')),
                                 encode_base64url(std::string(256, '\xff')),
                                 encode_base64url(std::string(1026, '\xff')), std::string(), std::string("!")}) {
    EXPECT_FALSE(parse(rsa(bad, "AQAB"), KeyForm::jwks)) << bad;
  }
  EXPECT_FALSE(parse(R"({"keys":[{"kty":"RSA"}]})", KeyForm::jwks));
  EXPECT_FALSE(parse(R"({"keys":[{"kty":"RSA","n":1,"e":2}]})", KeyForm::jwks));
  EXPECT_EQ(ERR_peek_error(), 0U);
}

TEST(JwtKeys, PointOffTheCurve_IsRefused) {
  const auto ec = [](const std::string& x, const std::string& y) {
    return jwks(
        {R"({"kty":"EC","crv":"P-256","x":")" + encode_base64url(x) + R"(","y":")" + encode_base64url(y) + "\"}"});
  };
  EXPECT_FALSE(parse(ec(std::string(32, '\x01'), std::string(32, '\x02')), KeyForm::jwks));
  EXPECT_FALSE(parse(ec(std::string(32, '\0'), std::string(32, '\0')), KeyForm::jwks));
  EXPECT_FALSE(parse(ec(std::string(32, '\xff'), std::string(32, '\xff')), KeyForm::jwks));
  EXPECT_FALSE(parse(ec(std::string(31, '\x01'), std::string(32, '\x02')), KeyForm::jwks));
  EXPECT_FALSE(parse(ec("", ""), KeyForm::jwks));
}

TEST(JwtKeys, OtherKindsInAPem_AreRefused) {
  EXPECT_FALSE(parse(public_pem(make_ec("P-384")), KeyForm::pem));
  EXPECT_FALSE(parse(public_pem(make_ec("secp256k1")), KeyForm::pem));
  const KeyPair ed(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), &EVP_PKEY_free);
  EXPECT_FALSE(parse(public_pem(ed), KeyForm::pem));
  const std::string pem = public_pem(make_ec());
  EXPECT_FALSE(parse(pem + pem, KeyForm::pem));
  EXPECT_FALSE(parse(pem.substr(0, pem.size() / 2), KeyForm::pem));
  EXPECT_FALSE(parse("", KeyForm::pem));
  EXPECT_FALSE(parse("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", KeyForm::pem));
  EXPECT_FALSE(
      parse("-----BEGIN PUBLIC KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,"
            "00000000000000000000000000000000\n\nAAAA\n-----END PUBLIC KEY-----\n",
            KeyForm::pem))
      << "and nobody was asked for a passphrase";
  EXPECT_EQ(ERR_peek_error(), 0U);
}

TEST(JwtKeys, PrivateKey_IsRefusedWithAdvice) {
  const KeyPair ec = make_ec();
  EXPECT_NE(parse(private_pem(ec), KeyForm::pem).error().message.find("public"), std::string::npos);
  EXPECT_FALSE(parse(public_pem(ec) + private_pem(ec), KeyForm::pem));
  EXPECT_FALSE(parse(jwks({ec_jwk(ec, R"("d":"AAAA",)")}), KeyForm::jwks));
}

TEST(JwtKeys, SecretThatOthersCanRead_IsRefused) {
  EXPECT_EQ(parse(secret, KeyForm::secret, 0640).error().code, ErrorCode::permission_denied);
  EXPECT_EQ(parse(jwks({oct_jwk(secret)}), KeyForm::jwks, 0644).error().code, ErrorCode::permission_denied);
  EXPECT_TRUE(parse(public_pem(make_ec()), KeyForm::pem, 0644));
  EXPECT_TRUE(parse(jwks({ec_jwk(make_ec())}), KeyForm::jwks, 0644));
}

TEST(JwtKeys, SecretThatIsNoPlainLine_IsRefused) {
  EXPECT_FALSE(parse(secret + "\n\n", KeyForm::secret));
  EXPECT_FALSE(parse(secret + "\n" + secret, KeyForm::secret));
  EXPECT_FALSE(parse(secret + " ", KeyForm::secret));
  EXPECT_FALSE(parse(secret + '\0', KeyForm::secret));
  EXPECT_FALSE(parse(secret + "\xff", KeyForm::secret));
}

TEST(JwtKeys, DamagedJwks_IsRefused) {
  const std::string key = ec_jwk(make_ec(), R"("kid":"a",)");
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), std::string(R"({"keys":{}})"),
        std::string(R"({"keys":[]})"), std::string(R"({"keys":[1]})"), std::string(R"({"keys":[{}]})"),
        std::string(R"({"keys":[{"kty":1}]})"), jwks({key, key}), jwks({key}) + "x",
        jwks({ec_jwk(make_ec(), R"("kid":7,)")}), std::string(R"({"keys":[],"keys":[)") + key + "]}",
        jwks({R"({"kty":"oct","kty":"EC"})"})}) {
    EXPECT_FALSE(parse(text, KeyForm::jwks)) << text;
  }
  std::string many = R"({"keys":[)" + key;
  for (std::size_t i = 0; i < most_keys; ++i) many += R"(,{"kty":"OKP"})";
  EXPECT_FALSE(parse(many + "]}", KeyForm::jwks));
}

}  // namespace
}  // namespace cloche::auth
