#include "backend/kubernetes/access/credentials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "core/ids.hpp"
#include "http/testing/scripted_server.hpp"

namespace cloche::kubernetes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class CredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("cloche-credentials-" + random_hex(6));
    std::filesystem::create_directory(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string program(const std::string& script) {
    const std::string path = directory_ / "plugin";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0755);
    return path;
  }
  Result<Login> login(Credentials& credentials) {
    Result<Login> result;
    EXPECT_TRUE(
        http::testing::run_to_end(io_, [&]() -> Task<> { result = co_await credentials.login(Deadline::after(20s)); }));
    io_.restart();
    return result;
  }
  ClusterAccess with_plugin(const std::string& script) {
    ClusterAccess access;
    access.plugin.emplace();
    access.plugin->command = program(script);
    access.plugin->api_version = "client.authentication.k8s.io/v1";
    access.plugin->args = {"a b"};
    access.plugin->env = {{"MINE", "value"}};
    return access;
  }

  std::filesystem::path directory_;
  asio::io_context io_;
  asio::thread_pool pool_{1};
};

TEST_F(CredentialsTest, TokenFile_IsReadAgainWhenItChanges) {
  ClusterAccess access;
  access.token_file = directory_ / "token";
  access.token = "of the config";
  std::ofstream(access.token_file) << "one\n";
  Credentials credentials(io_.get_executor(), pool_, access);
  EXPECT_EQ(login(credentials)->token, "one");
  std::ofstream(access.token_file + ".new") << "another";
  std::filesystem::rename(access.token_file + ".new", access.token_file);
  EXPECT_EQ(login(credentials)->token, "another");
  std::filesystem::remove(access.token_file);
  const auto missing = login(credentials);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("token"));
}

TEST_F(CredentialsTest, Plugin_RunsOnceUntilItsCredentialExpires) {
  const std::string count = directory_ / "count";
  Credentials credentials(io_.get_executor(), pool_, with_plugin("echo x >> " + count + R"(
test "$1" = "a b" || exit 3
test "$MINE" = value || exit 4
case "$KUBERNETES_EXEC_INFO" in *ExecCredential*) ;; *) exit 5;; esac
echo '{"kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"2190-01-01T00:00:00Z"}}'
)"));
  for (int i = 0; i < 3; ++i) {
    const auto made = login(credentials);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->token, "t");
  }
  EXPECT_EQ(std::filesystem::file_size(count), 2U);
  credentials.forget();
  ASSERT_TRUE(login(credentials));
  EXPECT_EQ(std::filesystem::file_size(count), 4U);
}

TEST_F(CredentialsTest, ExpiredCredential_IsNotKept) {
  const std::string count = directory_ / "count";
  Credentials credentials(io_.get_executor(), pool_,
                          with_plugin("echo x >> " + count +
                                      "\necho "
                                      "'{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\","
                                      "\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"}}'\n"));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(login(credentials));
  EXPECT_EQ(std::filesystem::file_size(count), 4U);
}

TEST_F(CredentialsTest, PluginThatFails_SaysWhy) {
  Credentials credentials(io_.get_executor(), pool_, with_plugin("echo no session >&2; exit 1"));
  const auto failed = login(credentials);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(failed.error().message, HasSubstr("no session"));
}

TEST_F(CredentialsTest, PluginThatHangsFloodsOrIsMissing_IsBounded) {
  CredentialPlugin plugin = *with_plugin("sleep 100").plugin;
  const auto hangs = run_plugin(plugin, Deadline::after(200ms));
  ASSERT_FALSE(hangs);
  EXPECT_THAT(hangs.error().message, HasSubstr("did not end"));
  plugin = *with_plugin("exec cat /dev/zero").plugin;
  const auto floods = run_plugin(plugin, Deadline::after(30s));
  ASSERT_FALSE(floods);
  EXPECT_THAT(floods.error().message, HasSubstr("1 MiB"));
  plugin.command = "/nowhere/plugin";
  plugin.install_hint = "apt install plugin";
  const auto missing = run_plugin(plugin, Deadline::after(30s));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("apt install plugin"));
}

}  // namespace
}  // namespace cloche::kubernetes
