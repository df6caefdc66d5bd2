// /execute, /bash and the runs of a session, over HTTP.
#include "service/run_api.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "support/eventually.hpp"

namespace cloche {

namespace json = boost::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

namespace {

// Without an operand: the ls of Debian and an old gVisor do not agree on one.
const std::string list_places = "ls -A; cd /tmp; echo /tmp:; ls -A";

std::vector<std::string> artifact_paths(const Answered& answered) {
  std::vector<std::string> paths;
  for (const auto& each : answered.body.at("artifacts").as_array()) {
    paths.emplace_back(each.at("path").as_string());
  }
  return paths;
}

std::string error_code(const Answered& answered) {
  const auto* error = answered.body.as_object().if_contains("error");
  return error == nullptr ? "" : std::string(error->at("code").as_string());
}

}  // namespace

TEST_P(RunApi, Execute_AnswersWhatWasPrintedAndMade) {
  serve([this]() -> Task<> {
    const auto ran = co_await execute("python",
                                      "import os, sys\n"
                                      "print(6 * 7, os.getcwd())\n"
                                      "print('oops', file=sys.stderr)\n"
                                      "open('table.csv', 'w').write('a,b\\n1,2\\n')\n");
    EXPECT_EQ(ran.status, 200u) << json::serialize(ran.body);
    EXPECT_EQ(ran.text("stdout"), "42 /workspace\n");
    EXPECT_EQ(ran.text("stderr"), "oops\n");
    EXPECT_EQ(ran.number("exit_code"), 0);
    EXPECT_EQ(ran.text("category"), "success");
    EXPECT_EQ(ran.text("session_id"), "s1");
    EXPECT_GT(ran.body.at("execution_time").as_double(), 0.0);
    EXPECT_FALSE(ran.body.at("truncated").as_bool());
    EXPECT_FALSE(ran.body.at("artifacts_truncated").as_bool());
    EXPECT_THAT(artifact_paths(ran), ElementsAre("table.csv"));
    const auto& artifact = ran.body.at("artifacts").at(0);
    EXPECT_EQ(artifact.at("content_type"), "text/csv; charset=utf-8");
    EXPECT_EQ(artifact.at("size"), 8);
    EXPECT_FALSE(ran.body.as_object().contains("compile"));
    const auto next = co_await bash("cat table.csv; " + list_places);
    EXPECT_EQ(next.text("stdout"), "a,b\n1,2\ntable.csv\n/tmp:\n") << "the source is gone, the files are not";
    EXPECT_THAT(artifact_paths(next), IsEmpty());
    json::object one;
    one["code"] = "print(1)";
    const auto prefixed = co_await post("/v1/sandbox/execute", std::move(one));
    EXPECT_EQ(prefixed.text("stdout"), "1\n");
  });
}

TEST_P(RunApi, CommandLongerThanAnArgument_RunsAsAShortOne) {
  serve([this]() -> Task<> {
    const std::string padding = ": " + std::string(1 << 20, 'x') + "\n";
    const std::string script = "set -- a b\necho \"$0 $#\"\nread line; echo \"$line\"\n";
    json::object body;
    body["stdin"] = "from stdin\n";
    body["command"] = script + "exit 7";
    const auto brief = co_await post("/bash", body);
    body["command"] = script + padding + "exit 7";
    const auto lengthy = co_await post("/bash", body);
    EXPECT_EQ(lengthy.status, 200u) << json::serialize(lengthy.body);
    EXPECT_EQ(lengthy.number("exit_code"), 7) << lengthy.text("stderr");
    EXPECT_EQ(lengthy.text("stdout"), brief.text("stdout"));
    const auto left = co_await bash(list_places);
    EXPECT_EQ(left.text("stdout"), "/tmp:\n");
    json::object env;
    env["command"] = "true";
    env["env"] = json::object{{"A", std::string(1 << 18, 'x')}};
    const auto refused = co_await post("/bash", env);
    EXPECT_EQ(refused.status, 400u) << json::serialize(refused.body);
    EXPECT_EQ(error_code(refused), "invalid_argument");
  });
}

TEST_P(RunApi, PipefailInputAsBytesAndWorkDirElsewhere_AreTaken) {
  serve([this]() -> Task<> {
    json::object pipe;
    pipe["command"] = "false | true";
    const auto usual = co_await post("/bash", pipe);
    EXPECT_EQ(usual.number("exit_code"), 0);
    pipe["pipefail"] = true;
    const auto failing = co_await post("/bash", pipe);
    EXPECT_EQ(failing.number("exit_code"), 1) << json::serialize(failing.body);
    json::object input;
    input["command"] = "od -An -tx1";
    input["stdin_base64"] = "AP8K";
    const auto bytes = co_await post("/bash", input);
    EXPECT_EQ(bytes.text("stdout"), " 00 ff 0a\n");
    json::object place;
    place["command"] = "pwd";
    place["work_dir"] = "/tmp";
    const auto elsewhere = co_await post("/bash", place);
    EXPECT_EQ(elsewhere.text("stdout"), "/tmp\n") << json::serialize(elsewhere.body);
    for (const char* bad : {"/no/such", "/proc/self", "/tmp/../etc", "/etc/passwd"}) {
      place["work_dir"] = bad;
      const auto refused = co_await post("/bash", place);
      EXPECT_EQ(refused.status, 400u) << bad << json::serialize(refused.body);
    }
  });
}

TEST_P(RunApi, WhatToolsMakeForThemselves_IsNoArtifact) {
  serve([this]() -> Task<> {
    const std::string make =
        "mkdir -p v/lib node_modules/a __pycache__ .cache deep; touch v/pyvenv.cfg v/lib/six.py node_modules/a/i.js "
        "__pycache__/m.pyc .cache/c .hidden m.pyc deep/b.txt z.txt";
    const auto ran = co_await bash(make);
    EXPECT_THAT(artifact_paths(ran), ElementsAre("z.txt", "deep/b.txt")) << json::serialize(ran.body);
    EXPECT_EQ(ran.number("artifacts_ignored"), 6);
    EXPECT_EQ(ran.number("artifacts_left_out"), 0);
    EXPECT_FALSE(ran.body.at("artifacts_truncated").as_bool());
    json::object all;
    all["command"] = "touch m.pyc .hidden z.txt v/lib/six.py";
    all["artifacts"] = json::object{{"ignore", "none"}};
    const auto every = co_await post("/bash", all);
    EXPECT_THAT(artifact_paths(every), ElementsAre(".hidden", "m.pyc", "z.txt", "v/lib/six.py"));
    json::object some;
    some["command"] = "touch a.csv b.log c.csv";
    some["artifacts"] = json::parse(R"({"include": ["*.csv"], "exclude": ["c.*"]})");
    const auto chosen = co_await post("/bash", some);
    EXPECT_THAT(artifact_paths(chosen), ElementsAre("a.csv"));
  });
}

TEST_P(RunApi, CompiledCode_RunsInTheWorkspace_AndLeavesNothingThere) {
  if (has_no_compiler()) return;
  serve([this]() -> Task<> {
    (void)co_await bash("echo '#define ANSWER 42' > answer.h");
    const auto ran = co_await execute(
        "c", "#include <stdio.h>\n#include \"answer.h\"\nint main(void){printf(\"%d\\n\", ANSWER);return 3;}");
    EXPECT_EQ(ran.text("stdout"), "42\n") << json::serialize(ran.body);
    EXPECT_EQ(ran.number("exit_code"), 3);
    EXPECT_EQ(ran.text("category"), "runtime_error");
    EXPECT_EQ(ran.text("cause"), "exit_code");
    EXPECT_THAT(artifact_paths(ran), IsEmpty());
    const auto wrong = co_await execute("c", "int main(void){ return x; }");
    EXPECT_EQ(wrong.text("category"), "compilation_error");
    EXPECT_THAT(std::string(wrong.body.at("compile").at("stderr").as_string()), HasSubstr("main.c"));
    const auto left = co_await bash(list_places);
    EXPECT_EQ(left.text("stdout"), "answer.h\n/tmp:\n");
  });
}

TEST_P(RunApi, Python_ImportsFromTheWorkspace) {
  serve([this]() -> Task<> {
    (void)co_await bash("mkdir pkg; echo 'x = 7' > pkg/__init__.py; echo 'y = 8' > mine.py");
    const auto ran = co_await execute("python", "import pkg, mine\nprint(pkg.x + mine.y)");
    EXPECT_EQ(ran.text("stdout"), "15\n") << ran.text("stderr");
  });
}

TEST_P(RunApi, StdinEnvFilesAndWorkDir_ReachTheProgram) {
  serve([this]() -> Task<> {
    json::object files;
    files["in/data.txt"] = "from a file";
    json::object raw;
    raw["content_base64"] = "AP8=";
    files["in/raw"] = std::move(raw);
    json::object body;
    body["command"] = "cat; echo; cat data.txt; echo; echo \"$X\"; pwd; wc -c < raw";
    body["stdin"] = "from stdin";
    json::object env;
    env["X"] = "from env";
    body["env"] = std::move(env);
    body["files"] = std::move(files);
    body["work_dir"] = "in";
    const auto ran = co_await post("/bash", std::move(body));
    EXPECT_EQ(ran.text("stdout"), "from stdin\nfrom a file\nfrom env\n/workspace/in\n2\n") << json::serialize(ran.body);
    EXPECT_THAT(artifact_paths(ran), IsEmpty()) << "what the caller wrote is not the run's";
    json::object nowhere;
    nowhere["command"] = "pwd";
    nowhere["work_dir"] = "no/such";
    const auto refused = co_await post("/bash", std::move(nowhere));
    EXPECT_EQ(refused.status, 400u);
  });
}

TEST_P(RunApi, Endings_AreToldApart) {
  serve([this]() -> Task<> {
    json::object slow;
    slow["command"] = "echo started; sleep 60";
    slow["timeout"] = 0.5;
    const auto timed_out = co_await post("/bash", std::move(slow));
    EXPECT_EQ(timed_out.text("category"), "timeout");
    EXPECT_EQ(timed_out.text("stdout"), "started\n");
    const auto crashed = co_await bash("kill -SEGV $$");
    EXPECT_EQ(crashed.text("cause"), "signal");
    EXPECT_EQ(crashed.number("exit_code"), 139);
    const auto bytes = co_await bash("printf 'a\\377b'");
    EXPECT_EQ(bytes.text("stdout"),
              "a\xef\xbf\xbd"
              "b");
    EXPECT_EQ(bytes.text("stdout_base64"), "Yf9i");
    const auto much = co_await bash("head -c 3000000 /dev/zero | tr '\\0' x");
    EXPECT_TRUE(much.body.at("truncated").as_bool());
    EXPECT_EQ(much.text("stdout").size(), 1U << 20);
    EXPECT_EQ(much.text("category"), "success");
  });
}

TEST_P(RunApi, RunsAtTheSameTime_DoNotDisturbEachOther) {
  serve([this]() -> Task<> {
    using asio::experimental::awaitable_operators::operator&&;
    (void)co_await bash("true");
    auto all = co_await (execute("python", "import time; time.sleep(0.3); print('one')") &&
                         execute("python", "print('two')") && bash("sleep 0.2; echo three") &&
                         execute("python", "import sys; print(sys.stdin.read() + 'four')"));
    EXPECT_EQ(std::get<0>(all).text("stdout"), "one\n");
    EXPECT_EQ(std::get<1>(all).text("stdout"), "two\n");
    EXPECT_EQ(std::get<2>(all).text("stdout"), "three\n");
    EXPECT_EQ(std::get<3>(all).text("stdout"), "four\n");
    const auto left = co_await bash(list_places);
    EXPECT_EQ(left.text("stdout"), "/tmp:\n");
  });
}

TEST_P(RunApi, Events_TellOfARunAsItGoes_AndFromAnywhereAgain) {
  serve([this]() -> Task<> {
    json::object body;
    body["code"] =
        "import sys, time\n"
        "for i in range(5):\n"
        "    print('line', i, '\u00e4', flush=True)\n"
        "    print('err', i, file=sys.stderr, flush=True)\n"
        "    time.sleep(0.05)\n"
        "open('made.txt', 'w').write('x')\n";
    const auto all = co_await events("POST", "/execute", body, "");
    EXPECT_EQ(all.front().name, "run");
    EXPECT_EQ(all.back().name, "result");
    if (all.size() < 4) co_return;
    EXPECT_EQ(all[all.size() - 2].name, "artifact");
    EXPECT_EQ(all[all.size() - 2].data.at("path"), "made.txt");
    EXPECT_EQ(all.back().data.at("category"), "success");
    const std::string out = text_in(all, "stdout");
    EXPECT_EQ(out, "line 0 \u00e4\nline 1 \u00e4\nline 2 \u00e4\nline 3 \u00e4\nline 4 \u00e4\n");
    const std::string run(all.front().data.at("run_id").as_string());
    for (std::size_t seen = 1; seen < all.size(); ++seen) {
      const std::vector<SentEvent> before(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(seen));
      const json::object none;
      const auto rest = co_await events("GET", runs("/" + run + "/events"), none, before.back().id);
      EXPECT_EQ(text_in(before, "stdout") + text_in(rest, "stdout"), out);
      EXPECT_EQ(rest.back().name, "result");
      const auto resumed = co_await events("POST", "/execute", body, before.back().id);
      EXPECT_EQ(text_in(before, "stderr") + text_in(resumed, "stderr"), text_in(all, "stderr"));
    }
    const auto list = co_await call("GET", runs());
    EXPECT_THAT(list.body.at("runs").as_array(), SizeIs(1)) << "coming back starts nothing";
  });
}

TEST_P(RunApi, LineThatBreaksInTheMiddle_MissesNothing) {
  serve([this]() -> Task<> {
    json::object body;
    body["command"] = "for i in $(seq 40); do echo line $i; sleep 0.02; done";
    std::vector<SentEvent> all = co_await events("POST", "/bash", body, "", 3);
    for (int tries = 0; tries < 50 && all.back().name != "result"; ++tries) {
      const auto more = co_await events("POST", "/bash", body, all.back().id, 4);
      all.insert(all.end(), more.begin() + 1, more.end());
    }
    std::string expected;
    for (int i = 1; i <= 40; ++i) expected += "line " + std::to_string(i) + "\n";
    EXPECT_EQ(text_in(all, "stdout"), expected);
  });
}

TEST_P(RunApi, PlainClientThatGoes_TakesTheRunAlong) {
  serve([this]() -> Task<> {
    (void)co_await bash("true");
    http::Request request;
    request.method = "POST";
    request.target = "/bash";
    request.body = R"({"command": "exec sleep 1234", "session_id": "s1"})";
    request.fields.emplace_back("Content-Type", "application/json");
    const auto gone = co_await client_->send(std::move(request), Deadline::after(3s));
    EXPECT_FALSE(gone);
    std::string state = "running";
    std::string last;
    const Deadline patience = Deadline::after(testing_support::patience);
    while (state != "ended" && !patience.passed()) {
      const auto list = co_await call("GET", runs());
      const auto& run = list.body.at("runs").as_array().back();
      state = std::string(run.at("state").as_string());
      last = std::string(run.at("run_id").as_string());
      if (state != "ended") co_await pause_for(50ms);
    }
    EXPECT_EQ(state, "ended");
    const auto shown = co_await call("GET", runs("/" + last));
    EXPECT_EQ(error_code(shown), "cancelled") << json::serialize(shown.body);
    const auto left = co_await bash("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 123[4]'");
    EXPECT_EQ(left.text("stdout"), "0\n");
  });
}

TEST_P(RunApi, BackgroundRun_GoesOnAlone_AndIsReadSignalledAndRemoved) {
  serve([this]() -> Task<> {
    json::object body;
    body["command"] = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    body["background"] = true;
    const auto started = co_await post("/bash", std::move(body));
    EXPECT_EQ(started.status, 202u) << json::serialize(started.body);
    const std::string run = "/" + started.text("run_id");
    Answered output;
    const Deadline patience = Deadline::after(testing_support::patience);
    while (output.text("content").empty() && !patience.passed()) {
      output = co_await call("GET", runs(run + "/output?stream=stdout"));
      if (output.text("content").empty()) co_await pause_for(20ms);
    }
    EXPECT_EQ(output.text("content"), "ready\n");
    EXPECT_EQ(output.number("next_offset"), 6);
    const auto waited = co_await call("POST", runs(run + "/wait"), R"({"timeout": 0.05})");
    EXPECT_EQ(waited.text("state"), "running");
    const auto signalled = co_await call("POST", runs(run + "/signal"), R"({"signal": "SIGTERM"})");
    EXPECT_EQ(signalled.status, 200u) << json::serialize(signalled.body);
    const auto ended = co_await call("POST", runs(run + "/wait"), R"({"timeout": 30})");
    EXPECT_EQ(ended.text("state"), "ended") << json::serialize(ended.body);
    EXPECT_EQ(ended.body.at("result").at("exit_code"), 5);
    const auto rest = co_await call("GET", runs(run + "/output?offset=6"));
    EXPECT_EQ(rest.text("content"), "caught\n");
    const auto removed = co_await call("DELETE", runs(run));
    EXPECT_EQ(removed.status, 200u);
    const auto gone = co_await call("GET", runs(run));
    EXPECT_EQ(gone.status, 404u);
  });
}

TEST_P(RunApi, BackgroundCode_IsCompiledFirst_KilledWhenRemoved_AndLeavesNothing) {
  if (has_no_compiler()) return;
  serve([this]() -> Task<> {
    json::object wrong;
    wrong["language"] = "c";
    wrong["code"] = "int main(void) { return x; }";
    wrong["background"] = true;
    const auto failed = co_await post("/execute", std::move(wrong));
    EXPECT_EQ(failed.status, 200u);
    EXPECT_EQ(failed.text("category"), "compilation_error");
    json::object body;
    body["language"] = "c";
    body["code"] = "#include <unistd.h>\nint main(void) { for (;;) sleep(1); }";
    body["background"] = true;
    const auto started = co_await post("/execute", std::move(body));
    EXPECT_EQ(started.status, 202u) << json::serialize(started.body);
    const auto removed = co_await call("DELETE", runs("/" + started.text("run_id")));
    EXPECT_EQ(removed.status, 200u) << json::serialize(removed.body);
    const std::string list_programs = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[m]ain.out'";
    const auto left = co_await bash(list_places + "; " + list_programs);
    EXPECT_EQ(left.text("stdout"), "/tmp:\n0\n");
  });
}

TEST_P(RunApi, Context_KeepsItsVariables_AlsoWhenItIsFollowed) {
  serve([this]() -> Task<> {
    json::object first;
    first["code"] = "x = 41";
    first["context"] = "c";
    const auto set = co_await post("/execute", first);
    EXPECT_EQ(set.status, 200u) << json::serialize(set.body);
    EXPECT_TRUE(set.body.at("fresh").as_bool());
    json::object next;
    next["code"] = "print('got', x)\nx + 1";
    next["context"] = "c";
    const auto got = co_await post("/execute", next);
    EXPECT_EQ(got.text("stdout"), "got 41\n");
    EXPECT_EQ(got.text("value"), "42");
    EXPECT_EQ(got.text("state"), "kept");
    EXPECT_FALSE(got.body.at("fresh").as_bool());
    const auto followed = co_await events("POST", "/execute", next, "");
    EXPECT_THAT(names_of(followed), ElementsAre("run", "stdout", "result"));
    EXPECT_EQ(followed.back().data.at("value"), "42");
    json::object wrong;
    wrong["code"] = "undefined_name";
    wrong["context"] = "c";
    const auto raised = co_await post("/execute", wrong);
    EXPECT_EQ(raised.status, 200u);
    EXPECT_EQ(raised.text("category"), "runtime_error");
    EXPECT_EQ(raised.body.at("error").at("name"), "NameError");
  });
}

TEST_P(RunApi, MoreRunsThanTheQuota_AreToldWhenToComeBack) {
  adjust_ = [](server::ServiceOptions& options) { options.config.server.quotas.limits.runs = 1; };
  serve([this]() -> Task<> {
    json::object body;
    body["command"] = "sleep 60";
    body["background"] = true;
    const auto first = co_await post("/bash", std::move(body));
    EXPECT_EQ(first.status, 202u);
    http::Request request;
    request.method = "POST";
    request.target = "/bash";
    request.body = R"({"command": "true", "session_id": "s2"})";
    request.fields.emplace_back("Content-Type", "application/json");
    const auto second = co_await client_->send(std::move(request), Deadline::after(30s));
    EXPECT_EQ(second.value().status, 429u);
    EXPECT_NE(second.value().field("Retry-After"), "");
    (void)co_await call("DELETE", runs("/" + first.text("run_id")));
    const auto third = co_await bash("true");
    EXPECT_EQ(third.status, 200u) << "the place is free again";
  });
}

TEST_P(RunApi, SessionWithAZygote_RunsPythonAsWithout) {
  adjust_ = [](server::ServiceOptions& options) {
    for (Profile& profile : options.config.manager.profiles) {
      if (profile.name == "session") profile.zygotes.push_back({.name = "python", .imports = {"json"}});
    }
  };
  serve([this]() -> Task<> {
    (void)co_await bash("echo 'y = 8' > mine.py; mkdir sub");
    json::object body;
    body["code"] =
        "import sys, os, mine, json\n"
        "print(mine.y, os.getcwd(), __name__, sys.argv[0] == __file__, sys.stdin.read())\n"
        "open('made', 'w').write('x')\nraise ValueError('on purpose')\n";
    body["stdin"] = "in";
    body["work_dir"] = "sub";
    const auto ran = co_await post("/execute", std::move(body));
    EXPECT_EQ(ran.text("stdout"), "8 /workspace/sub __main__ True in\n") << ran.text("stderr");
    EXPECT_THAT(ran.text("stderr"), HasSubstr("ValueError: on purpose"));
    EXPECT_EQ(ran.number("exit_code"), 1);
    EXPECT_THAT(artifact_paths(ran), ElementsAre("sub/made"));
  });
}

TEST_P(RunApi, BadRequests_AreRefusedAndStartNothing) {
  serve([this]() -> Task<> {
    const std::pair<const char*, unsigned> cases[] = {
        {R"({"code": "x"})", 400},
        {R"({"code": "x", "session_id": "../x"})", 400},
        {R"({"code": "x", "session_id": "s", "language": "klingon"})", 400},
        {R"({"code": "x", "session_id": "s", "unknown": 1})", 400},
        {R"({"code": "x", "session_id": "s", "tenant_id": "a b"})", 400},
        {R"({"code": "x", "session_id": "s", "files": {"../../etc/x": ""}})", 400},
        {R"({"code": )", 400},
    };
    for (const auto& [body, status] : cases) {
      const auto refused = co_await call("POST", "/execute", body);
      EXPECT_EQ(refused.status, status) << body;
    }
    const auto sessions = co_await call("GET", "/sessions");
    EXPECT_THAT(sessions.body.at("sessions").as_array(), IsEmpty());
    const auto nowhere = co_await call("GET", runs());
    EXPECT_EQ(nowhere.status, 404u);
    (void)co_await bash("true");
    const auto no_run = co_await call("GET", runs("/r0000/output"));
    EXPECT_EQ(no_run.status, 404u);
    const auto bad_stream = co_await call("GET", runs("/r0000/output?stream=stdin"));
    EXPECT_EQ(bad_stream.status, 400u);
  });
}

std::vector<Target> run_targets() { return {{"oci", "crun"}, {"oci", "runsc"}, {"docker", "runc"}}; }

INSTANTIATE_TEST_SUITE_P(Backends, RunApi, testing::ValuesIn(run_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
