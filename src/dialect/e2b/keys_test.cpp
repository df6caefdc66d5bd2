#include "dialect/e2b/keys.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "auth/testing/scratch.hpp"

namespace cloche::dialect::e2b {
namespace {

using auth::testing::file_text;
using auth::testing::put_file;
using auth::testing::ScratchDir;

TEST(SandboxKeys, KeyFile_IsMadeOnceAndForItsOwnerAlone) {
  const ScratchDir dir;
  const std::string path = dir / "e2b.key";
  const auto first = SandboxKeys::open(path);
  ASSERT_TRUE(first) << first.error().message;
  struct stat found{};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U);
  const std::string content = file_text(path);
  const auto second = SandboxKeys::open(path);
  EXPECT_EQ(file_text(path), content);
  const KeyHolder holder{"acme", "iabc", "0123456789abcdef"};
  EXPECT_EQ(first->access_token(holder), second->access_token(holder));
}

TEST(SandboxKeys, FileThatOthersCanReadOrIsDamaged_IsAnError) {
  const ScratchDir dir;
  const std::string path = dir / "e2b.key";
  put_file(path, std::string(64, 'a'), 0644);
  EXPECT_EQ(SandboxKeys::open(path).error().code, ErrorCode::permission_denied);
  put_file(path, "short", 0600);
  EXPECT_EQ(SandboxKeys::open(path).error().code, ErrorCode::invalid_argument);
}

TEST(SandboxKeys, Tokens_DifferInEverythingThatTheyAreFor) {
  const ScratchDir dir;
  const auto keys = SandboxKeys::open(dir / "a");
  const auto others = SandboxKeys::open(dir / "b");
  std::set<std::string> tokens;
  for (const KeyHolder& holder :
       {KeyHolder{"t", "i1", ""}, KeyHolder{"t", "i2", ""}, KeyHolder{"u", "i1", ""}, KeyHolder{"t", "i1", "k"}}) {
    for (const auto* each : {&*keys, &*others}) {
      EXPECT_TRUE(tokens.insert(each->access_token(holder)).second);
      EXPECT_TRUE(tokens.insert(each->traffic_token(holder)).second);
    }
  }
  for (const std::string& token : tokens) EXPECT_EQ(token.size(), 64U);
}

TEST(SameToken, OneByteOff_IsAnother) {
  const std::string token(64, 'a');
  EXPECT_TRUE(is_same_token(token, token));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = 'b';
    EXPECT_FALSE(is_same_token(other, token));
  }
  EXPECT_FALSE(is_same_token("", ""));
  EXPECT_FALSE(is_same_token(token, ""));
  EXPECT_FALSE(is_same_token(token + "a", token));
}

}  // namespace
}  // namespace cloche::dialect::e2b
