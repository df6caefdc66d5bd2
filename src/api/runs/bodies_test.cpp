#include "api/runs/bodies.hpp"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <csignal>

#include "http/server/request/target.hpp"

namespace cloche::api {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Result<RunBody> execute(std::string_view text) { return read_execute_body(json::parse(text)); }
Result<RunBody> bash(std::string_view text) { return read_bash_body(json::parse(text)); }

const session::RunRequest& request_of(const Result<RunBody>& body) { return std::get<session::RunRequest>(body->call); }

TEST(ExecuteBody, AllFields_AreRead) {
  const auto call = execute(R"({"code": "x = 1", "language": "Py", "tenant_id": "t", "session_id": "s",
    "timeout": 1.5, "stdin": "in", "env": {"A": "b"}, "work_dir": "d", "background": false,
    "files": {"a.txt": "x", "b/c": {"content_base64": "AAE="}, "d": {"content": "y"}}})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->where.tenant, "t");
  EXPECT_EQ(call->where.session, "s");
  const auto& code = std::get<session::Code>(request_of(call).what);
  EXPECT_EQ(code.text, "x = 1");
  EXPECT_EQ(code.language, "Py");
  EXPECT_EQ(request_of(call).timeout, 1500ms);
  EXPECT_EQ(request_of(call).input, "in");
  EXPECT_THAT(request_of(call).env, ElementsAre(Pair("A", "b")));
  EXPECT_EQ(request_of(call).work_dir, "d");
  EXPECT_THAT(request_of(call).files,
              ElementsAre(Pair("a.txt", "x"), Pair("b/c", std::string("\0\1", 2)), Pair("d", "y")));
  EXPECT_EQ(call->lifetime, Lifetime::foreground);
}

TEST(ExecuteBody, LanguageThatIsNotNamed_IsPython) {
  const auto call = execute(R"({"code": "1", "session_id": "s"})");
  ASSERT_TRUE(call);
  EXPECT_EQ(std::get<session::Code>(request_of(call).what).language, "python");
  EXPECT_FALSE(call->where.tenant);
  EXPECT_FALSE(request_of(call).timeout);
}

TEST(ExecuteBody, Nonsense_IsRefusedByTheFieldsName) {
  const struct {
    const char* body;
    const char* names;
  } cases[] = {
      {R"([])", "object"},
      {R"({"session_id": "s"})", "code"},
      {R"({"code": 1, "session_id": "s"})", "code"},
      {R"({"code": "", "session_id": ""})", "session"},
      {R"({"code": "", "session_id": "a/b"})", "session"},
      {R"({"code": ""})", "session_id"},
      {R"({"code": "", "session_id": "s", "timeout": 0})", "timeout"},
      {R"({"code": "", "session_id": "s", "timeout": 1e300})", "timeout"},
      {R"({"code": "", "session_id": "s", "timeout": "3"})", "timeout"},
      {R"({"code": "", "session_id": "s", "timeout": 3601})", "timeout"},
      {R"({"code": "", "session_id": "s", "env": {"A": 1}})", "env"},
      {R"({"code": "", "session_id": "s", "env": {"A=B": "1"}})", "env"},
      {R"({"code": "", "session_id": "s", "env": {"A": "x\u0000y"}})", "env"},
      {R"({"code": "", "session_id": "s", "files": []})", "files"},
      {R"({"code": "", "session_id": "s", "files": {"a": 1}})", "files"},
      {R"({"code": "", "session_id": "s", "files": {"../a": ""}})", "a"},
      {R"({"code": "", "session_id": "s", "files": {"/a": ""}})", "/a"},
      {R"({"code": "", "session_id": "s", "files": {"a\u0000": ""}})", "NUL"},
      {R"({"code": "", "session_id": "s", "files": {"a": {"content_base64": "?"}}})", "base64"},
      {R"({"code": "", "session_id": "s", "files": {"a": {"content": "", "content_base64": ""}}})", "either"},
      {R"({"code": "", "session_id": "s", "files": {"a": {"content": "", "mode": 1}}})", "mode"},
      {R"({"code": "", "session_id": "s", "background": "yes"})", "background"},
      {R"({"code": "", "session_id": "s", "comand": ""})", "comand"},
      {R"({"code": "", "session_id": "s", "context": "c", "background": true})", "context"},
      {R"({"code": "", "session_id": "s", "stdin": "", "stdin_base64": ""})", "not both"},
      {R"({"code": "", "session_id": "s", "stdin_base64": "?"})", "stdin_base64"},
      {R"({"code": "", "session_id": "s", "pipefail": true})", "pipefail"},
      {R"({"code": "", "session_id": "s", "artifacts": []})", "artifacts"},
      {R"({"code": "", "session_id": "s", "artifacts": {"ignore": "all"}})", "ignore"},
      {R"({"code": "", "session_id": "s", "artifacts": {"include": ["/a"]}})", "include"},
      {R"({"code": "", "session_id": "s", "artifacts": {"exclude": ["../a"]}})", "exclude"},
      {R"({"code": "", "session_id": "s", "artifacts": {"only": []}})", "only"},
      {R"({"code": "", "session_id": "s", "context": "c", "env": {"A": "b"}})", "context"},
  };
  for (const auto& each : cases) {
    const auto refused = execute(each.body);
    ASSERT_FALSE(refused) << each.body;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument) << each.body;
    EXPECT_THAT(refused.error().message, HasSubstr(each.names)) << each.body;
  }
}

TEST(BashBody, Command_IsALine) {
  const auto call = bash(R"({"command": "echo $HOME", "session_id": "s", "background": true, "timeout": 86400})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(std::get<session::ShellLine>(request_of(call).what).line, "echo $HOME");
  EXPECT_EQ(call->lifetime, Lifetime::background);
  EXPECT_EQ(request_of(call).timeout, 24h);
  EXPECT_FALSE(bash(R"({"command": "a\u0000b", "session_id": "s"})"));
  EXPECT_FALSE(bash(R"({"command": "a", "code": "b", "session_id": "s"})"));
}

TEST(BashBody, Pipefail_IsForALine_NotForAContext) {
  EXPECT_EQ(std::get<session::ShellLine>(request_of(bash(R"({"command": "a", "session_id": "s"})")).what).pipes,
            session::ShellLine::Pipes::last_command);
  EXPECT_EQ(
      std::get<session::ShellLine>(request_of(bash(R"({"command": "a", "session_id": "s", "pipefail": true})")).what)
          .pipes,
      session::ShellLine::Pipes::any_failure);
  EXPECT_FALSE(bash(R"({"command": "a", "session_id": "s", "pipefail": true, "context": "c"})"));
}

TEST(RunBodyFields, CallInAContext_HasTheCommonFields) {
  const auto call = bash(R"({"command": "cd d", "session_id": "s", "context": "c", "stdin": "in", "timeout": 2})");
  ASSERT_TRUE(call) << call.error().message;
  const auto& in_context = std::get<session::ContextCall>(call->call);
  EXPECT_EQ(in_context.context, "c");
  EXPECT_EQ(in_context.language, "bash");
  EXPECT_EQ(in_context.code, "cd d");
  EXPECT_EQ(in_context.input, "in");
  EXPECT_EQ(in_context.timeout, 2s);
}

TEST(RunBodyFields, InputAsBytes_AndRulesForArtifacts) {
  const auto call = execute(
      R"({"code": "", "session_id": "s", "stdin_base64": "AP8=", "artifacts": {"ignore": "none", "exclude": ["*.log"]}})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(request_of(call).input, std::string("\0\xff", 2));
  ChangeRules usual;
  usual.usual = ChangeRules::Usual::ignored;
  usual.include = {"*.csv"};
  const ChangeRules rules = request_of(call).artifact_choice.over(usual);
  EXPECT_EQ(rules.usual, ChangeRules::Usual::told);
  EXPECT_THAT(rules.exclude, testing::ElementsAre("*.log"));
  EXPECT_THAT(rules.include, testing::ElementsAre("*.csv")) << "what is not said is as it was";
}

TEST(SignalBody, NamesAndNumbers_AreTheSame) {
  EXPECT_EQ(read_signal_body(json::parse(R"({"signal": "SIGTERM"})")).value(), SIGTERM);
  EXPECT_EQ(read_signal_body(json::parse(R"({"signal": "INT"})")).value(), SIGINT);
  EXPECT_EQ(read_signal_body(json::parse(R"({"signal": 9})")).value(), SIGKILL);
  for (const char* bad : {R"({})", R"({"signal": 0})", R"({"signal": 65})", R"({"signal": "FOO"})",
                          R"({"signal": 1.5})", R"({"signal": 9, "x": 1})"}) {
    EXPECT_FALSE(read_signal_body(json::parse(bad))) << bad;
  }
}

TEST(OutputQuery, Bounds_AreHeld) {
  const auto read = [](std::string_view text) { return read_output_query(http::parse_query(text).value()); };
  EXPECT_EQ(read("stream=stderr&offset=5&limit=7")->offset, 5U);
  EXPECT_EQ(read("")->limit, 65536U);
  for (const char* bad : {"stream=x", "offset=-1", "offset=1x", "limit=99999999999", "offset="}) {
    EXPECT_FALSE(read(bad)) << bad;
  }
}

TEST(EventId, ComesBackAsItWas) {
  const EventPlace place = parse_event_id(event_id({"r0a-1", 42})).value();
  EXPECT_EQ(place.run, "r0a-1");
  EXPECT_EQ(place.position, 42U);
  for (const char* bad : {"", "x", "x-", "x-1a", "x--", "x-99999999999999999999999"}) {
    EXPECT_FALSE(parse_event_id(bad)) << bad;
  }
}

}  // namespace
}  // namespace cloche::api
