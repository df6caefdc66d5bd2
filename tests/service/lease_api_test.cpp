// The autograder's lease interface over HTTP, as its stock client uses it.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "core/async/task_group.hpp"
#include "service/service_test.hpp"

namespace cloche {

namespace json = boost::json;

class LeaseApi : public ServiceTest {};

TEST_P(LeaseApi, SubmissionPreparedAndRun_AnswersAsTheStockClientExpects) {
  serve([this]() -> Task<> {
    const std::string id = co_await lend("python");
    const std::string files =
        R"json({"submission_files": {"main.py": {"filename": "main.py", "content": "print(int(input()) * 2)"},
            "x": {"filename": "deep/er/data.txt", "content": "b\\n-n\\\\"}
}
})json";
    auto prepared = co_await call("POST", "/sandboxes/" + id + "/prepare", files);
    EXPECT_EQ(prepared.status, 200u);
    EXPECT_EQ(prepared.text("status"), "success");

    auto batch = co_await call("POST", "/sandboxes/" + id + "/run-batch",
                               R"json({"commands": ["21"], "program_command": "python3 main.py", "timeout": 60})json");
    EXPECT_EQ(batch.status, 200u) << batch.text("detail");
    EXPECT_EQ(batch.text("stdout"), "42\n");
    EXPECT_EQ(batch.text("category"), "success");
    EXPECT_EQ(batch.number("exit_code"), 0);

    auto own = co_await call("POST", "/sandboxes/" + id + "/run-batch",
                             R"json({"commands": ["4"], "program_command": "CMD", "timeout": 60})json");
    EXPECT_EQ(own.text("stdout"), "8\n") << own.text("stderr");

    auto crash = co_await call("POST", "/sandboxes/" + id + "/run",
                               R"json({"command": "python3 -c 'import sys; sys.exit(1)'"})json");
    EXPECT_EQ(crash.text("category"), "runtime_error");
    EXPECT_EQ(crash.number("exit_code"), 1);

    auto late = co_await call("POST", "/sandboxes/" + id + "/run",
                              R"json({"command": "sh -c 'echo before; sleep 100'", "timeout": 1})json");
    EXPECT_EQ(late.text("category"), "timeout");
    EXPECT_EQ(late.number("exit_code"), 124);
    EXPECT_EQ(late.text("stdout"), "before\n");
    EXPECT_THAT(late.text("stderr"), HasSubstr("Execution timed out after 1 seconds"));

    auto file = co_await call("GET", "/sandboxes/" + id + "/files?path=deep/er/data.txt");
    EXPECT_EQ(file.status, 200u);
    EXPECT_EQ(file.text("content_text"), "b\\n-n\\\\");
    EXPECT_EQ(file.text("encoding"), "utf-8");
    auto missing = co_await call("GET", "/sandboxes/" + id + "/files?path=none");
    EXPECT_EQ(missing.status, 404u);
    EXPECT_THAT(missing.text("detail"), HasSubstr("File not found in container"));

    auto back = co_await call("DELETE", "/sandboxes/" + id);
    EXPECT_EQ(back.text("status"), "success");
    auto again = co_await call("DELETE", "/sandboxes/" + id);
    EXPECT_EQ(again.status, 404u);
    EXPECT_EQ(again.text("detail"), "Sandbox not found");
  });
}

TEST_P(LeaseApi, AssetOf200KiB_ArrivesWhole) {
  serve([this]() -> Task<> {
    const std::string id = co_await lend("python");
    const std::string content(200 * 1024 / 3 * 4, 'Q');  // base64 of three bytes, again and again
    json::object asset;
    asset["target"] = "data/set.bin";
    asset["content"] = content;
    json::object body;
    body["resolved_assets"] = json::array{asset};
    auto injected = co_await call("POST", "/sandboxes/" + id + "/inject", json::serialize(body));
    EXPECT_EQ(injected.status, 200u) << injected.text("detail");
    auto size = co_await call("POST", "/sandboxes/" + id + "/run",
                              R"json({"command": "stat -c '%s %a' /tmp/data/set.bin"})json");
    EXPECT_EQ(size.text("stdout"), std::to_string(200 * 1024 / 3 * 3) + " 444\n") << size.text("stderr");
    body["resolved_assets"].get_array()[0].get_object()["target"] = "../../etc/x";
    auto escaping = co_await call("POST", "/sandboxes/" + id + "/inject", json::serialize(body));
    EXPECT_EQ(escaping.status, 400u);
  });
}

TEST_P(LeaseApi, RequestToAnAppInTheSandbox_IsAnswered) {
  serve([this]() -> Task<> {
    const std::string id = co_await lend("python");
    auto started =
        co_await call("POST", "/sandboxes/" + id + "/run", R"json({"command": "python3 -m http.server 8000 &"})json");
    EXPECT_EQ(started.text("category"), "success") << started.text("stderr");
    Answered answered;
    const Deadline patience = Deadline::after(60s);
    while (answered.status != 200 && !patience.passed()) {
      answered = co_await call("POST", "/sandboxes/" + id + "/request",
                               R"json({"method": "GET", "endpoint": "/", "kwargs": {"timeout": 30}})json");
      if (answered.status != 200) co_await pause_for(50ms);
    }
    EXPECT_EQ(answered.number("status_code"), 200);
    EXPECT_THAT(answered.text("text"), HasSubstr("Directory listing"));
  });
}

TEST_P(LeaseApi, LimitReached_Is400WithTheWordsItsClientsKnow) {
  serve([this]() -> Task<> {
    const std::string first = co_await lend("python");
    const std::string second = co_await lend("python");
    auto refused = co_await call("POST", "/sandboxes/python");
    EXPECT_EQ(refused.status, 400u);
    EXPECT_THAT(refused.text("detail"), HasSubstr("No idle sandboxes available for language python"));
    EXPECT_THAT(refused.text("detail"), HasSubstr("(scale_limit: 2)"));
    auto destroyed = co_await call("DELETE", "/sandboxes/" + first + "/destroy");
    EXPECT_EQ(destroyed.text("status"), "success");
    const std::string third = co_await lend("python");
    EXPECT_NE(third, second);
    auto stats = co_await call("GET", "/stats");
    EXPECT_EQ(stats.body.at("python").at("active").as_int64(), 2);
    EXPECT_EQ(stats.body.at("python").at("scale_limit").as_int64(), 2);
  });
}

TEST_P(LeaseApi, ClientThatVanished_LosesItsLeaseByRunningTimeout) {
  serve(1s, [this]() -> Task<> {
    const std::string first = co_await lend("python");
    const std::string second = co_await lend("python");
    unsigned status = 400;
    const Deadline patience = Deadline::after(60s);
    while (status != 200 && !patience.passed()) {
      co_await pause_for(100ms);
      auto lent = co_await call("POST", "/sandboxes/python");
      status = lent.status;
    }
    EXPECT_EQ(status, 200u);
    auto old = co_await call("POST", "/sandboxes/" + first + "/run", R"json({"command": "true"})json");
    EXPECT_NE(old.text("category"), "success");
  });
}

TEST_P(LeaseApi, BadInput_IsA4xxThatSaysWhat) {
  serve([this]() -> Task<> {
    const std::string id = co_await lend("python");
    const std::string run = "/sandboxes/" + id + "/run";
    auto unknown = co_await call("POST", "/sandboxes/cobol");
    EXPECT_EQ(unknown.status, 422u);
    EXPECT_THAT(unknown.text("detail"), HasSubstr("Unsupported language: cobol"));
    auto broken = co_await call("POST", run, "{");
    EXPECT_EQ(broken.status, 422u);
    // A language that is known, and that nothing here can run.
    for (const char* path : {"/sandboxes/rust", "/sandboxes/ruby"}) {
      auto without = co_await call("POST", path);
      EXPECT_EQ(without.status, 422u);
      EXPECT_THAT(without.text("detail"), HasSubstr("Unsupported language: ru"));
      EXPECT_THAT(without.text("detail"), HasSubstr("c, cpp, python"));
      EXPECT_THAT(without.text("detail"), HasSubstr("configure a profile `ru"));
    }
    auto wrong = co_await call("POST", run, R"json({"command": 7})json");
    EXPECT_EQ(wrong.status, 422u);
    EXPECT_THAT(wrong.text("detail"), HasSubstr("command must be a string"));
    auto absurd = co_await call("POST", run, R"json({"command": "true", "timeout": 1e300})json");
    EXPECT_EQ(absurd.status, 422u);
    auto huge = co_await call("GET", "/sandboxes/" + id + "/files?path=a&max_bytes=x");
    EXPECT_EQ(huge.status, 422u);
    auto outside = co_await call("POST", "/sandboxes/" + id + "/prepare",
                                 R"json({"submission_files": {"a": {"filename": "../../etc/x", "content": ""}}})json");
    EXPECT_EQ(outside.status, 400u);
    EXPECT_THAT(outside.text("detail"), HasSubstr("Path must stay within working directory"));
    auto nowhere = co_await call("POST", "/sandboxes/0123/run", R"json({"command": "true"})json");
    EXPECT_EQ(nowhere.status, 404u);
    auto method = co_await call("PUT", "/sandboxes/python");
    EXPECT_EQ(method.status, 405u);
    EXPECT_EQ(method.body.at("error").at("code").as_string(), "method_not_allowed");
  });
}

TEST_P(LeaseApi, Execute_RunsEachTestCaseAndTellsWhatHappened) {
  serve([this]() -> Task<> {
    auto ran =
        co_await call("POST", "/api/v1/execute", R"json({"language": "python", "program_command": null, "assets": [],
      "submission_files": [{"filename": "main.py", "content": "x = int(input()); print(1 // x)"}],
      "test_cases": [["1"], ["0"]]})json");
    EXPECT_EQ(ran.status, 200u) << ran.text("detail");
    const auto& results = ran.body.at("results").as_array();
    EXPECT_EQ(results.size(), 2u);
    if (results.size() != 2) co_return;
    EXPECT_EQ(results[0].at("category").as_string(), "success");
    EXPECT_EQ(results[0].at("output").as_string(), "1\n");
    EXPECT_EQ(results[1].at("category").as_string(), "runtime_error");
    EXPECT_THAT(std::string(results[1].at("error_message").as_string()), HasSubstr("ZeroDivisionError"));
    auto unknown = co_await call("POST", "/api/v1/execute", R"json({"language": "cobol", "submission_files": []})json");
    EXPECT_EQ(unknown.status, 422u);
  });
}

// One result of /api/v1/execute.
struct ExecuteResult {
  std::string output;
  std::string category;
  std::string error;
};

std::vector<ExecuteResult> results_of(const Answered& answered) {
  std::vector<ExecuteResult> results;
  EXPECT_EQ(answered.status, 200u) << answered.text("detail");
  if (answered.status != 200) return results;
  for (const json::value& each : answered.body.at("results").as_array()) {
    const json::value& error = each.at("error_message");
    results.push_back({std::string(each.at("output").as_string()), std::string(each.at("category").as_string()),
                       error.is_null() ? "" : std::string(error.as_string())});
  }
  return results;
}

std::string submission(const char* language, json::object files, const char* command) {
  json::array list;
  for (const auto& [name, content] : files) list.push_back(json::object{{"filename", name}, {"content", content}});
  return json::serialize(
      json::object{{"language", language}, {"submission_files", list}, {"program_command", command}});
}

TEST_P(LeaseApi, ProgramCommand_RunsAlone) {
  if (target().backend == "docker") CLOCHE_DOES_NOT_APPLY("the test engine's image has no gcc");
  serve([this]() -> Task<> {
    const json::object needs_flag = {
        {"main.c", "#include <stdio.h>\nint main() { printf(\"%d\\n\", N); return 0; }\n"}};
    const std::string with_flag = submission("c", needs_flag, "sh -c \"gcc -DN=5 main.c -o main && ./main\"");
    auto flag = co_await call("POST", "/api/v1/execute", with_flag);
    const auto told = results_of(flag);
    EXPECT_EQ(told.size(), 1u);
    if (told.size() == 1) {
      EXPECT_EQ(told[0].output, "5\n") << told[0].error;
      EXPECT_EQ(told[0].category, "success");
      EXPECT_TRUE(flag.body.at("results").at(0).at("error_message").is_null());
    }
    // Two programs: the command says which.
    const json::object two = {{"a.c", "int main() { return 1; }"}, {"b.c", "int main() { return 0; }"}};
    auto second = co_await call("POST", "/api/v1/execute", submission("c", two, "sh -c 'gcc b.c -o b && ./b'"));
    for (const auto& each : results_of(second)) EXPECT_EQ(each.category, "success") << each.error;
    // Nothing was compiled before it.
    auto none = co_await call("POST", "/api/v1/execute", submission("c", two, "./a.out"));
    for (const auto& each : results_of(none)) {
      EXPECT_EQ(each.category, "runtime_error");
      EXPECT_EQ(each.error, "Runtime error occurred: ./a.out: No such file or directory");
    }
    // A compiler that fails is a compilation error, called by a shell or without one.
    for (const char* command : {"gcc main.c -o main", "sh -c \"gcc main.c -o main && ./main\""}) {
      auto broken = co_await call("POST", "/api/v1/execute", submission("c", needs_flag, command));
      for (const auto& each : results_of(broken)) {
        EXPECT_EQ(each.category, "compilation_error") << command;
        EXPECT_THAT(each.error, testing::StartsWith("Compilation failed: ")) << command;
        EXPECT_THAT(each.error, HasSubstr("undeclared")) << command;
      }
    }
  });
}

TEST_P(LeaseApi, OutputOfExecute_IsStdoutAndStderr) {
  serve([this]() -> Task<> {
    const json::object files = {
        {"main.py", "import sys\nx = input()\nprint(x)\nprint('e', file=sys.stderr)\nsys.exit(int(x))\n"}};
    json::object body = json::parse(submission("python", files, "python main.py")).as_object();
    body["test_cases"] = json::array{json::array{"0"}, json::array{"3"}};
    auto ran = co_await call("POST", "/api/v1/execute", json::serialize(body));
    const auto told = results_of(ran);
    EXPECT_EQ(told.size(), 2u);
    if (told.size() != 2) co_return;
    EXPECT_EQ(told[0].output, "0\n\ne\n");
    EXPECT_EQ(told[0].category, "success");
    EXPECT_EQ(told[1].output, "3\n\ne\n");
    EXPECT_EQ(told[1].error, "Runtime error occurred: e\n");
    const json::value& second = ran.body.at("results").at(1);
    EXPECT_EQ(second.at("stdout").as_string(), "3\n");
    EXPECT_EQ(second.at("stderr").as_string(), "e\n");
    EXPECT_EQ(second.at("exit_code").as_int64(), 3);
    if (target().backend == "docker") co_return;  // the image has no compiler
    // Our own compile step, where no command is given: each case ends as compiling did.
    const json::object broken = {{"main.c", "int main() { return N; }"}};
    json::object own = json::parse(submission("c", broken, "CMD")).as_object();
    own["test_cases"] = json::array{json::array{}, json::array{}};
    auto compiled = co_await call("POST", "/api/v1/execute", json::serialize(own));
    const auto failures = results_of(compiled);
    EXPECT_EQ(failures.size(), 2u);
    for (const auto& each : failures) {
      EXPECT_EQ(each.category, "compilation_error");
      EXPECT_THAT(each.error, testing::StartsWith("Compilation failed: main.c: In function"));
      EXPECT_EQ("Compilation failed: " + each.output, each.error);
    }
  });
}

TEST_P(LeaseApi, ProgramCommandThatTakesTooLong_IsATimeoutInTheWordsItsClientsKnow) {
  // Thirty seconds, but within the running_timeout of sandboxes.
  serve(5s, [this]() -> Task<> {
    const json::object files = {{"main.py", "print('so far', flush=True)\nwhile True: pass"}};
    auto ran = co_await call("POST", "/api/v1/execute", submission("python", files, "python3 main.py"));
    for (const auto& each : results_of(ran)) {
      EXPECT_EQ(each.category, "timeout");
      EXPECT_EQ(each.output, "so far\n\nExecution timed out after 4.5 seconds");
      EXPECT_EQ(each.error, "Execution timed out: Execution timed out after 4.5 seconds");
    }
  });
}

TEST_P(LeaseApi, LimitsOfTheProfile_StandOverThoseOfTheLanguage) {
  adjust_ = [](server::ServiceOptions& options) {
    for (Profile& profile : options.config.manager.profiles) {
      profile.sandbox.limits.memory = mib(400);
      profile.limits_set.memory = mib(400);
    }
  };
  serve([this]() -> Task<> {
    // More than the language's own 128 MiB.
    const json::object files = {{"main.py", "x = bytearray(250 << 20)\nprint(len(x) >> 20)"}};
    for (const char* command : {"CMD", "python3 main.py"}) {
      auto ran = co_await call("POST", "/api/v1/execute", submission("python", files, command));
      for (const auto& each : results_of(ran)) {
        EXPECT_EQ(each.output, "250\n") << each.error;
        EXPECT_EQ(each.category, "success") << command;
      }
    }
  });
}

constexpr const char* python_commands[] = {
    R"json({"command": "python -c 'print(6 * 7)'"})json", R"json({"command": "python3 -c 'print(6 * 7)'"})json",
    R"json({"command": "sh -c \"python -c 'print(6 * 7)'\""})json",
    R"json({"command": "env python -c 'import os, sys; os.execv(sys.executable, [sys.executable, \"-c\", \"print(42)\"])'"})json"};

TEST_P(LeaseApi, Python_IsThereWhereverPython3Is) {
  serve([this]() -> Task<> {
    const std::string id = co_await lend("python");
    for (const char* command : python_commands) {
      auto ran = co_await call("POST", "/sandboxes/" + id + "/run", command);
      EXPECT_EQ(ran.text("stdout"), "42\n") << command << ran.text("stderr");
    }
    auto missing = co_await call("POST", "/sandboxes/" + id + "/run", R"json({"command": "no-such-program"})json");
    EXPECT_EQ(missing.number("exit_code"), 127);
    EXPECT_EQ(missing.text("stderr"), "no-such-program: command not found");
  });
}

TEST_P(LeaseApi, BodiesThatCannotBeRead_HaveTheStatusThatFits) {
  serve([this]() -> Task<> {
    const std::string id = co_await lend("python");
    for (const std::string& path : {"/sandboxes/" + id + "/run", std::string("/api/v1/execute")}) {
      http::Request request;
      request.method = "POST";
      request.target = path;
      request.fields = {{"Content-Type", "text/plain"}};
      request.body = "{}";
      auto plain = co_await client_->send(std::move(request), Deadline::after(60s));
      EXPECT_EQ(plain->status, 415u) << path;
      EXPECT_EQ(plain->body, R"json({"detail":"the body must have the Content-Type application/json"})json");
      auto broken = co_await call("POST", path, "{");
      EXPECT_EQ(broken.status, 422u) << path;
      EXPECT_NE(broken.text("detail"), "");
    }
  });
}

TEST_P(LeaseApi, HealthAndReadiness_Answer) {
  serve([this]() -> Task<> {
    auto health = co_await call("GET", "/healthz");
    EXPECT_EQ(health.status, 200u);
    unsigned status = 503;
    const Deadline patience = Deadline::after(60s);
    while (status != 200 && !patience.passed()) {
      auto ready = co_await call("GET", "/readyz");
      status = ready.status;
      if (status != 200) co_await pause_for(50ms);
    }
    EXPECT_EQ(status, 200u);
  });
}

std::vector<Target> service_targets() { return {{"oci", "crun"}, {"docker", "runc"}}; }

INSTANTIATE_TEST_SUITE_P(Backends, LeaseApi, testing::ValuesIn(service_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
