#include "server/access.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "auth/testing/scratch.hpp"
#include "server/listen.hpp"

namespace cloche::server {
namespace {

using auth::testing::file_text;
using auth::testing::ScratchDir;
using testing::HasSubstr;
using testing::Not;

class AccessOf : public testing::Test {
 protected:
  AccessOf() { config_.manager.engine.state_dir = scratch_ / "state"; }

  Access open(const std::string& listen) {
    std::vector<http::ListenOn> all{*parse_listen("unix:/run/x.sock"), *parse_listen(listen)};
    auto access = open_access(config_, all);
    EXPECT_TRUE(access) << access.error().message;
    return access ? std::move(*access) : Access{};
  }
  std::string usual_file() const { return scratch_ / "state/tokens.json"; }

  ScratchDir scratch_;
  config::Config config_;
};

TEST_F(AccessOf, ThisMachineAlone_NeedsNoTokens) {
  const Access access = open("127.0.0.1:0");
  EXPECT_FALSE(access.options.token_file);
  EXPECT_FALSE(access.first_token);
  struct stat there;
  EXPECT_NE(::stat(usual_file().c_str(), &there), 0);
}

TEST_F(AccessOf, BeyondThisMachine_MakesAFirstTokenOnce) {
  const Access first = open("0.0.0.0:0");
  EXPECT_EQ(first.options.token_file, usual_file());
  ASSERT_TRUE(first.first_token);
  EXPECT_EQ(first.first_token->record.tenant, "default");
  EXPECT_EQ(first.first_token->record.role, auth::Role::admin);
  const auto token = auth::parse_token(first.first_token->text);
  ASSERT_TRUE(token);
  EXPECT_THAT(file_text(usual_file()), Not(HasSubstr(token->secret)));
  const Access second = open("0.0.0.0:0");
  EXPECT_EQ(second.options.token_file, usual_file());
  EXPECT_FALSE(second.first_token);
}

TEST_F(AccessOf, FileThatIsThere_IsUsedOnThisMachineToo) {
  open("0.0.0.0:0");
  const Access access = open("127.0.0.1:0");
  EXPECT_EQ(access.options.token_file, usual_file());
  EXPECT_FALSE(access.first_token);
}

TEST_F(AccessOf, FileWithoutTokens_MakesNone) {
  const Access first = open("0.0.0.0:0");
  ASSERT_TRUE(auth::TokenFile(usual_file()).revoke(first.first_token->record.id));
  EXPECT_FALSE(open("0.0.0.0:0").first_token);
}

TEST_F(AccessOf, ModeTokens_AsksForThemOnThisMachineToo) {
  config_.server.auth = config::AuthMode::tokens;
  EXPECT_TRUE(open("127.0.0.1:0").first_token);
}

TEST_F(AccessOf, NamedFile_IsAskedForAndMade) {
  config_.server.tokens = scratch_ / "mine.json";
  const Access access = open("127.0.0.1:0");
  EXPECT_EQ(access.options.token_file, config_.server.tokens);
  EXPECT_TRUE(access.first_token);
}

TEST_F(AccessOf, NamedFileInNoDirectory_IsAnError) {
  config_.server.tokens = scratch_ / "nowhere/mine.json";
  const auto access = open_access(config_, {});
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().message, HasSubstr("create the first token"));
}

TEST_F(AccessOf, Jwt_NeedsNoTokenFile) {
  config_.server.jwt.emplace();
  config_.server.jwt->key_file = "/keys";
  const Access access = open("0.0.0.0:0");
  EXPECT_FALSE(access.options.token_file);
  ASSERT_TRUE(access.options.jwt);
  EXPECT_EQ(access.options.jwt->key_file, "/keys");
}

TEST_F(AccessOf, ModeNone_IgnoresTheUsualFile) {
  open("0.0.0.0:0");
  config_.server.auth = config::AuthMode::none;
  EXPECT_FALSE(open("127.0.0.1:0").options.token_file);
}

TEST_F(AccessOf, FileThatCannotBeUsed_StillCountsAsOne) {
  ASSERT_EQ(::mkdir((scratch_ / "state").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("/nowhere", usual_file().c_str()), 0);
  const auto access = open_access(config_, {*parse_listen("127.0.0.1:0")});
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->options.token_file, usual_file());
  EXPECT_FALSE(auth::Authenticator::open(access->options));
}

TEST(Listen, Forms_AreToldApart) {
  const auto host = [](const char* text) { return std::get<http::ListenTcp>(*parse_listen(text)).host; };
  EXPECT_EQ(host("127.0.0.1:8080"), "127.0.0.1");
  EXPECT_EQ(host("[::1]:8080"), "::1");
  EXPECT_EQ(host(":8080"), "127.0.0.1");
  EXPECT_EQ(std::get<http::ListenUnix>(*parse_listen("unix:/run/a")).path, "/run/a");
  for (const char* wrong : {"", "8080", "localhost", "localhost:", "localhost:x", "a:99999", "unix:a"}) {
    EXPECT_FALSE(parse_listen(wrong)) << wrong;
  }
}

TEST(Listen, Local_IsWhatOnlyThisMachineReaches) {
  for (const char* here : {"127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "localhost:1", "unix:/a"}) {
    EXPECT_TRUE(is_local(*parse_listen(here))) << here;
  }
  for (const char* beyond : {"0.0.0.0:1", "[::]:1", "192.168.0.1:1", "127.evil.example:1", "example:1"}) {
    EXPECT_FALSE(is_local(*parse_listen(beyond))) << beyond;
  }
}

TEST(Listen, Flags_StandOverTheConfiguration) {
  config::ServerSettings settings;
  EXPECT_EQ(std::get<http::ListenTcp>(listen_on(settings, {})->at(0)).port, 8080);
  settings.listen = {"127.0.0.1:1", "unix:/a"};
  settings.tls = config::TlsFiles{"/chain", "/key"};
  const auto configured = *listen_on(settings, {});
  ASSERT_EQ(configured.size(), 2u);
  EXPECT_EQ(std::get<http::ListenTcp>(configured[0]).certificate->chain, "/chain");
  const auto given = *listen_on(settings, {"127.0.0.1:2"});
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(std::get<http::ListenTcp>(given[0]).port, 2);
  EXPECT_EQ(std::get<http::ListenTcp>(given[0]).certificate->key, "/key");
}

}  // namespace
}  // namespace cloche::server
