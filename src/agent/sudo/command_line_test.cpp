#include "agent/sudo/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const SudoCaller caller{.env = {"HOME=/home/user", "TERM=xterm", "SECRET=s", "LD_PRELOAD=x", "LC_ALL=C", "PATH=/evil",
                                "https_proxy=http://proxy", "SHELL=/bin/zsh"},
                        .uid = 1000,
                        .gid = 1000,
                        .passwd = "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/sh\nbroken\n"};

SudoRequest parsed(const std::vector<std::string>& args) {
  auto request = read_sudo_command(args, caller);
  EXPECT_TRUE(request) << request.error().text;
  return request.value_or(SudoRequest{});
}

SudoExit refused(const std::vector<std::string>& args) {
  const auto request = read_sudo_command(args, caller);
  EXPECT_FALSE(request);
  return request ? SudoExit{} : request.error();
}

TEST(SudoCommand, PlainCommand_RunsAsRootWithACleanEnvironment) {
  const auto request = parsed({"ls", "-u", "x"});
  EXPECT_THAT(request.argv, ElementsAre("ls", "-u", "x"));
  EXPECT_EQ(request.uid, 0U);
  EXPECT_EQ(request.gid, 0U);
  for (const char* kept : {"TERM=xterm", "LC_ALL=C", "https_proxy=http://proxy", "HOME=/root", "USER=root",
                           "LOGNAME=root", "SUDO_USER=user", "SUDO_UID=1000", "SUDO_COMMAND=ls -u x"}) {
    EXPECT_THAT(request.env, Contains(kept));
  }
  EXPECT_THAT(request.env, Not(Contains("SECRET=s")));
  EXPECT_THAT(request.env, Not(Contains("LD_PRELOAD=x")));
  EXPECT_THAT(request.env, Not(Contains("PATH=/evil")));
}

TEST(SudoCommand, PreservedEnvironment_IsKept) {
  EXPECT_THAT(parsed({"-E", "env"}).env, Contains("SECRET=s"));
  EXPECT_THAT(parsed({"-E", "env"}).env, Contains("HOME=/home/user"));
  EXPECT_THAT(parsed({"-EH", "env"}).env, Contains("HOME=/root"));
  EXPECT_THAT(parsed({"--preserve-env=SECRET,NONE", "env"}).env, Contains("SECRET=s"));
  EXPECT_THAT(parsed({"A=1", "B=2=3", "env", "C=4"}).env, Contains("B=2=3"));
  EXPECT_THAT(parsed({"A=1", "B=2=3", "env", "C=4"}).argv, ElementsAre("env", "C=4"));
}

TEST(SudoCommand, AnotherUser_IsFoundByNameOrUid) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"-u", "user", "id"},
                                               {"-uuser", "id"},
                                               {"-nu", "user", "id"},
                                               {"--user=user", "id"},
                                               {"--user", "user", "id"},
                                               {"-u", "#1000", "id"}}) {
    const auto request = parsed(args);
    EXPECT_EQ(request.uid, 1000U);
    EXPECT_THAT(request.env, Contains("HOME=/home/user"));
    EXPECT_THAT(request.argv, ElementsAre("id"));
  }
  EXPECT_THAT(refused({"-u", "nobody-knows", "id"}).text, HasSubstr("unknown user"));
  EXPECT_THAT(refused({"-u", "#77", "id"}).text, HasSubstr("unknown user"));
}

TEST(SudoCommand, Shells_AreLoginOrPlain) {
  const auto login = parsed({"-i"});
  EXPECT_EQ(login.program, "/bin/bash");
  EXPECT_THAT(login.argv, ElementsAre("-bash"));
  EXPECT_EQ(login.directory, "/root");
  EXPECT_THAT(parsed({"-i", "echo", "a b"}).argv, ElementsAre("-bash", "-c", "echo a\\ b"));
  const auto plain = parsed({"-s"});
  EXPECT_EQ(plain.program, "/bin/zsh");
  EXPECT_EQ(plain.directory, "");
}

TEST(SudoCommand, DoubleDash_EndsTheOptions) {
  EXPECT_THAT(parsed({"-n", "--", "-x"}).argv, ElementsAre("-x"));
  EXPECT_THAT(parsed({"--", "A=1", "env"}).env, Contains("A=1"));
}

TEST(SudoCommand, NothingToRun_IsHelpOrSuccess) {
  EXPECT_EQ(refused({"--help"}).code, 0);
  EXPECT_EQ(refused({"-v"}).code, 0);
  EXPECT_EQ(refused({"-k"}).code, 0);
  EXPECT_EQ(refused({"-nv"}).code, 0);
  EXPECT_EQ(refused({"-l"}).code, 0);
  EXPECT_EQ(refused({}).code, 1);
  EXPECT_THAT(parsed({"-k", "id"}).argv, ElementsAre("id"));
}

TEST(SudoCommand, Nonsense_IsRefused) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"-Z", "id"}, {"--unknown"}, {"-u"}, {"--user"}, {"-nu"}}) {
    EXPECT_EQ(refused(args).code, 1);
  }
}

TEST(SudoCommand, NoFileOfUsers_StillHasRoot) {
  const auto request = read_sudo_command({"id"}, SudoCaller{});
  ASSERT_TRUE(request);
  EXPECT_THAT(request->env, Contains("HOME=/root"));
}

}  // namespace
}  // namespace cloche::agent
