// `cloche sessions`, `pools` and `top` without a terminal, and the errors without a service or a permission.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <csignal>

#include "cli/client.hpp"
#include "core/deadline.hpp"

namespace cloche {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class CliSessions : public CliClient {
 protected:
  std::size_t count() const { return json_of({"sessions", "list"}).as_object().at("sessions").as_array().size(); }
};

TEST_F(CliSessions, SessionsAndPools_AreListedAndEnded) {
  for (const char* name : {"one", "two", "three"}) ASSERT_EQ(run_client({"exec", name, "true"}).exit_code, 0);
  const CommandEnd listed = run_client({"sessions", "list"});
  EXPECT_THAT(listed.out, StartsWith("TENANT   SESSION  PROFILE  STATE"));
  EXPECT_THAT(listed.out, HasSubstr("default  one      session  live"));
  EXPECT_THAT(listed.out, Not(HasSubstr("\033")));
  EXPECT_THAT(run_client({"sessions", "list", "--color", "always"}).out, HasSubstr("\033[32mlive\033[0m"));
  EXPECT_THAT(run_client({"--color=always", "pools"}).out, HasSubstr("\033[1mPOOL\033[0m"));

  const CommandEnd pools = run_client({"pools"});
  EXPECT_THAT(pools.out, StartsWith("POOL     IDLE  ACTIVE"));
  EXPECT_EQ(json_of({"pools"}).as_object().at("session").as_object().at("active").as_int64(), 3);
  const CommandEnd access = run_client({"access"});
  EXPECT_THAT(access.out, StartsWith("KIND      NAME        TENANTS"));
  EXPECT_THAT(access.out, HasSubstr("profile   session     all"));
  EXPECT_TRUE(json_of({"access"}).as_object().contains("secrets"));
  const CommandEnd top = run_client({"top"});
  EXPECT_THAT(top.out, HasSubstr("sessions 3 live of 3"));
  EXPECT_THAT(top.out, Not(HasSubstr("\033")));
  const auto both = json_of({"top"}).as_object();
  EXPECT_EQ(both.at("sessions").as_array().size(), 3u);
  EXPECT_TRUE(both.at("pools").as_object().contains("session"));

  const CommandEnd some = run_client({"sessions", "kill", "one", "nobody", "two"});
  EXPECT_EQ(some.out, "ended one\nended two\n");
  EXPECT_EQ(some.exit_code, 70);
  EXPECT_THAT(some.err, HasSubstr("nobody: no session `nobody`; run `cloche sessions list`"));
  const auto ended = parse_json(run_client({"sessions", "kill", "--all", "--mode", "wait", "--json"}).out);
  EXPECT_EQ(ended.as_object().at("ended").as_array().size(), 1u);
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(run_client({"sessions", "kill", "--all"}).exit_code, 0) << "nothing to do is done";
  EXPECT_EQ(run_client({"sessions", "kill"}).exit_code, 64);
}

TEST_F(CliSessions, BrokenPipe_IsNoError) {
  CommandSpec spec = client({});
  // The other end is closed before anything is written.
  spec.argv = {"bash", "-c", "exec 3> >(:); wait $!; \"$0\" pools >&3; echo $?", CLOCHE_PROGRAM};
  const CommandEnd end = run_command(spec);
  EXPECT_EQ(end.out, "141\n");
  EXPECT_EQ(end.err, "");
}

TEST_F(CliSessions, FullDisk_IsToldOf) {
  CommandSpec spec = client({});
  spec.argv = {"bash", "-c", "\"$0\" pools > /dev/full", CLOCHE_PROGRAM};
  const CommandEnd end = run_command(spec);
  EXPECT_EQ(end.exit_code, 70);
  EXPECT_THAT(end.err, HasSubstr("cannot write to stdout: No space left on device"));
}

class CliNoService : public CliClient {
 protected:
  void SetUp() override {}
};

TEST_F(CliNoService, WhatToDo_IsSaid) {
  const std::vector<std::string> commands[] = {{"pools"},
                                               {"top"},
                                               {"sessions", "list"},
                                               {"logs", "x"},
                                               {"exec", "x", "ls"},
                                               {"sessions", "cp", "x:a", "b"},
                                               {"sessions", "kill", "x"}};
  for (const auto& command : commands) {
    for (const char* server : {"unix:/nowhere/socket", "http://127.0.0.1:1"}) {
      CommandSpec spec = client(command);
      spec.env["CLOCHE_SERVER"] = server;
      const CommandEnd end = run_command(spec);
      EXPECT_EQ(end.exit_code, 69) << end.err;
      EXPECT_THAT(end.err, HasSubstr("no service responds at " + std::string(server)));
      EXPECT_THAT(end.err, HasSubstr("start one with `cloche serve`"));
      EXPECT_THAT(end.out, IsEmpty());
    }
  }
}

class CliWithTokens : public CliClient {
 protected:
  void SetUp() override {
    CliRun::SetUp();
    if (IsSkipped()) return;
    CommandSpec create = cloche({"token", "create", "--tenant", "acme"});
    const CommandEnd made = run_command(create);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    token_ = source("token", made.out);
    start_service("server: {auth: tokens}\n");
  }
  std::string token_;
};

TEST_F(CliWithTokens, TokenIsShown_AndTheTenantFoundOut) {
  const CommandEnd without = run_client({"pools"});
  EXPECT_EQ(without.exit_code, 70);
  EXPECT_THAT(without.err, HasSubstr("create a token with `cloche token create"));
  EXPECT_EQ(run_client({"exec", "demo", "--token-file", token_, "--", "echo", "hi"}).out, "hi\n");
  CommandSpec by_variable = client({"sessions", "cp", "-", "demo:a"}, "text");
  by_variable.env["CLOCHE_TOKEN"] = text_of("token").substr(0, text_of("token").size() - 1);
  EXPECT_EQ(run_command(by_variable).exit_code, 0);
  EXPECT_EQ(run_client({"sessions", "cp", "--token-file", token_, "demo:a", "-"}).out, "text");
  EXPECT_THAT(run_client({"sessions", "list", "--token-file", token_}).out, HasSubstr("acme    demo"));
  const CommandEnd other = run_client({"sessions", "list", "--tenant", "other", "--token-file", token_});
  EXPECT_EQ(other.exit_code, 70);
  EXPECT_THAT(other.err, HasSubstr("role admin"));

  // An admin sees all tenants, and has to say whose where it is not clear.
  const std::string admin =
      source("admin", run_command(cloche({"token", "create", "--tenant", "ops", "--role", "admin"})).out);
  const std::vector<std::string> as_other{"exec", "demo", "--tenant", "other", "--token-file", admin, "true"};
  // A new token counts within a second, and a busy machine has many.
  CommandEnd made = run_client(as_other);
  const Deadline patience = Deadline::after(std::chrono::seconds(60));
  while (made.exit_code == 70 && !patience.passed()) made = run_client(as_other);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const CommandEnd unclear = run_client({"logs", "demo", "--token-file", admin});
  EXPECT_EQ(unclear.exit_code, 64);
  EXPECT_THAT(unclear.err, HasSubstr("several tenants have a session `demo` (acme, other): choose one with --tenant"));
  EXPECT_EQ(run_client({"sessions", "kill", "demo", "--tenant", "other", "--token-file", admin}).out, "ended demo\n");
  EXPECT_EQ(run_client({"sessions", "kill", "demo", "--token-file", token_}).out, "ended demo\n");
  const CommandEnd wrong =
      run_client({"pools", "--token-file", source("wrong", "cloche_0123456789abcdef_" + std::string(64, '0'))});
  EXPECT_EQ(wrong.exit_code, 70);
  EXPECT_THAT(wrong.err, HasSubstr("may have been revoked"));
  const CommandEnd none = run_client({"pools", "--token-file", source("none", "two words\n")});
  EXPECT_EQ(none.exit_code, 64);
  EXPECT_THAT(none.err, Not(HasSubstr("two words")));
}

}  // namespace
}  // namespace cloche
