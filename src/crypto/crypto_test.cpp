#include <gtest/gtest.h>

#include "crypto/hmac.hpp"
#include "crypto/sha256.hpp"

namespace cloche {
namespace {

constexpr const char* digest_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Digest, KnownVectors_Hold) {
  EXPECT_EQ(sha256_hex("abc"), digest_of_abc);
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Digest, OfAStream_IsThatOfItsBytes) {
  Sha256 sum;
  sum.update("a");
  sum.update("");
  sum.update("bc");
  EXPECT_EQ(sum.hex(), digest_of_abc);
}

TEST(Digest, OfAFile_IsThatOfItsContent) {
  EXPECT_EQ(sha256_hex_of_file("/dev/null").value(), sha256_hex(""));
  EXPECT_EQ(sha256_hex_of_file("/nonexistent").error().code, ErrorCode::not_found);
}

TEST(Digest, AsText_IsReadBackStrictly) {
  const Digest digest = sha256("x");
  EXPECT_EQ(digest_from_hex(to_hex(digest)), digest);
  EXPECT_FALSE(digest_from_hex(""));
  EXPECT_FALSE(digest_from_hex(std::string(63, 'a')));
  EXPECT_FALSE(digest_from_hex(std::string(65, 'a')));
  EXPECT_FALSE(digest_from_hex(std::string(64, 'A')));
  EXPECT_FALSE(digest_from_hex(std::string(64, 'g')));
}

TEST(Digest, Comparison_NeedsEqualLengthAndBytes) {
  const Digest digest = sha256("x");
  std::string bytes(digest.begin(), digest.end());
  EXPECT_TRUE(same_in_constant_time(digest, bytes));
  EXPECT_FALSE(same_in_constant_time(digest, bytes.substr(1)));
  EXPECT_FALSE(same_in_constant_time(digest, bytes + "x"));
  EXPECT_FALSE(same_in_constant_time(digest, std::string_view()));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_FALSE(same_in_constant_time(digest, bytes));
}

}  // namespace
}  // namespace cloche
