// Sessions over HTTP: whose they are, how they are made and ended, and what a lost one says.
#include <signal.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/json.hpp>

#include "core/async/task_group.hpp"
#include "service/service_auth.hpp"
#include "support/engine_gate.hpp"
#include "support/eventually.hpp"
#include "support/host_processes.hpp"

namespace cloche {

namespace {

namespace json = boost::json;

std::string code_of(const Answered& answered) {
  const auto* error = answered.body.is_object() ? answered.body.get_object().if_contains("error") : nullptr;
  return error == nullptr ? "" : std::string(error->at("code").as_string());
}

std::vector<std::string> ids_of(const Answered& listed) {
  std::vector<std::string> ids;
  for (const auto& each : listed.body.at("sessions").as_array()) {
    ids.push_back(std::string(each.at("tenant_id").as_string()) + "/" + std::string(each.at("session_id").as_string()));
  }
  return ids;
}

}  // namespace

class SessionApi : public ServiceAuth {};

TEST_P(SessionApi, SessionOfAnotherTenant_IsNeitherSeenNorUsedNorEnded) {
  serve([this]() -> Task<> {
    auto made = co_await call_as(acme_, "POST", "/sessions", R"json({"session_id": "s1"})json");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto mine = co_await call_as(acme_, "GET", "/sessions");
    EXPECT_EQ(ids_of(mine), std::vector<std::string>{"acme/s1"});
    auto theirs = co_await call_as(other_, "GET", "/sessions");
    EXPECT_TRUE(ids_of(theirs).empty());
    for (const char* method : {"GET", "DELETE"}) {
      auto refused = co_await call_as(other_, method, "/sessions/acme/s1");
      EXPECT_EQ(refused.status, 403u) << method;
      EXPECT_EQ(code_of(refused), "permission_denied");
    }
    const char* bodies[] = {R"json({"session_id": "s1", "tenant_id": "acme", "path": "a", "content": "x"})json",
                            R"json({"session_id": "s2", "tenant_id": "acme", "path": "a", "content": "x"})json"};
    for (const char* body : bodies) {
      auto refused = co_await call_as(other_, "POST", "/write", body);
      EXPECT_EQ(refused.status, 403u) << "whether there is such a session or not";
    }
    // The same id is another session for another tenant.
    auto own = co_await call_as(other_, "POST", "/write",
                                R"json({"session_id": "s1", "path": "mark", "content": "other's"})json");
    EXPECT_EQ(own.status, 200u) << json::serialize(own.body);
    auto read = co_await call_as(acme_, "POST", "/read", R"json({"session_id": "s1", "path": "mark"})json");
    EXPECT_EQ(read.status, 404u);
    auto all = co_await call_as(admin_, "GET", "/sessions");
    EXPECT_EQ(ids_of(all), (std::vector<std::string>{"acme/s1", "other/s1"}));
    auto ended = co_await call_as(admin_, "DELETE", "/v1/sandbox/sessions/acme/s1");
    EXPECT_EQ(ended.status, 200u);
    auto gone = co_await call_as(acme_, "GET", "/sessions/acme/s1");
    EXPECT_EQ(gone.status, 404u);
  });
}

TEST_P(SessionApi, MadeWithOptions_HasThem) {
  serve([this]() -> Task<> {
    auto made = co_await call_as(acme_, "POST", "/sessions", R"json({"session_id": "s1", "profile": "python",
        "env": {"COLOUR": "red"}, "limits": {"file_size": "1m", "open_files": 77}, "idle_timeout": 60})json");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    EXPECT_EQ(made.text("profile"), "python");
    EXPECT_EQ(made.number("idle_timeout"), 60);
    auto twice = co_await call_as(acme_, "POST", "/sessions", R"json({"session_id": "s1"})json");
    EXPECT_EQ(twice.status, 409u);
    auto ran = co_await call_as(acme_, "POST", "/bash",
                                R"json({"session_id": "s1", "command": "echo $COLOUR; ulimit -n; ulimit -f"})json");
    EXPECT_EQ(ran.text("stdout"), "red\n77\n1024\n") << json::serialize(ran.body);
  });
}

TEST_P(SessionApi, Paused_CallsUnderWayAndNewOnesFailUntilItIsResumed) {
  serve([this]() -> Task<> {
    auto begun = co_await call_as(
        acme_, "POST", "/bash",
        R"json({"session_id": "s1", "background": true, "command": "until [ -e stop ]; do sleep 0.01; done"})json");
    EXPECT_EQ(begun.status, 202u) << json::serialize(begun.body);
    const std::string run = begun.text("run_id");
    const auto wait = [&]() -> Task<bool> {
      auto waited =
          co_await call_as(acme_, "POST", "/sessions/acme/s1/runs/" + run + "/wait", R"json({"timeout": 300})json");
      EXPECT_EQ(waited.status, 409u) << json::serialize(waited.body);
      co_return true;
    };
    const auto pause = [&]() -> Task<bool> {
      for (;;) {
        auto info = co_await call_as(acme_, "GET", "/sessions/acme/s1");
        if (info.number("calls") > 1) break;  // the run and its follower
        co_await pause_for(1ms);
      }
      auto paused = co_await call_as(acme_, "POST", "/sessions/acme/s1/pause");
      EXPECT_EQ(paused.status, 200u) << json::serialize(paused.body);
      EXPECT_EQ(paused.text("state"), "paused");
      co_return true;
    };
    using asio::experimental::awaitable_operators::operator&&;
    co_await (wait() && pause());
    const struct {
      const char *method, *target, *body;
    } calls[] = {{"POST", "/bash", R"json({"session_id": "s1", "command": "true"})json"},
                 {"POST", "/read", R"json({"session_id": "s1", "path": "a"})json"},
                 {"GET", "/sessions/acme/s1/runs", ""},
                 {"POST", "/sessions/acme/s1/pause", ""}};
    for (const auto& [method, target, body] : calls) {
      auto refused = co_await call_as(acme_, method, target, body);
      EXPECT_EQ(refused.status, 409u) << target << json::serialize(refused.body);
      EXPECT_EQ(code_of(refused), "session_paused") << target;
    }
    auto resumed = co_await call_as(acme_, "POST", "/sessions/acme/s1/resume");
    EXPECT_EQ(resumed.text("state"), "live");
    auto written =
        co_await call_as(acme_, "POST", "/write", R"json({"session_id": "s1", "path": "stop", "content": ""})json");
    EXPECT_EQ(written.status, 200u);
    auto ended =
        co_await call_as(acme_, "POST", "/sessions/acme/s1/runs/" + run + "/wait", R"json({"timeout": 60})json");
    EXPECT_EQ(ended.status, 200u) << json::serialize(ended.body);
    EXPECT_EQ(ended.text("state"), "ended");
  });
}

TEST_P(SessionApi, BadInput_IsA4xxWithAStableCodeAndMakesNothing) {
  serve([this]() -> Task<> {
    const std::pair<const char*, unsigned> bodies[] = {
        {"{", 400},
        {"[]", 400},
        {R"json({})json", 400},
        {R"json({"session_id": 1})json", 400},
        {R"json({"session_id": "a/b"})json", 400},
        {R"json({"session_id": ".."})json", 400},
        {R"json({"session_id": "s", "session_id": "t"})json", 400},
        {R"json({"session_id": "s", "sesion": 1})json", 400},
        {R"json({"session_id": "s", "env": {"A": 1}})json", 400},
        {R"json({"session_id": "s", "env": {"A=B": "x"}})json", 400},
        {R"json({"session_id": "s", "limits": {"memory": -1}})json", 400},
        {R"json({"session_id": "s", "limits": {"memory": 1e300}})json", 400},
        {R"json({"session_id": "s", "limits": {"cpus": 0}})json", 400},
        {R"json({"session_id": "s", "limits": {"pids": 99999999999999999999}})json", 400},
        {R"json({"session_id": "s", "limits": {"memory": "1t"}})json", 400},
        {R"json({"session_id": "s", "limits": {"cpus": 64}})json", 400},
        {R"json({"session_id": "s", "limits": {"pids": 30000}})json", 400},
        {R"json({"session_id": "s", "idle_timeout": 0})json", 400},
        {R"json({"session_id": "s", "profile": "none"})json", 404},
        {R"json({"session_id": "s", "tenant_id": "other"})json", 403},
        {"{\"session_id\": \"\xff\"}", 400},
    };
    for (const auto& [body, status] : bodies) {
      auto refused = co_await call_as(acme_, "POST", "/sessions", body);
      EXPECT_EQ(refused.status, status) << body << "\n" << json::serialize(refused.body);
      EXPECT_NE(code_of(refused), "") << body;
    }
    auto method = co_await call_as(acme_, "PUT", "/sessions", "{}");
    EXPECT_EQ(method.status, 405u);
    auto mode = co_await call_as(acme_, "DELETE", "/sessions/acme/s?mode=perhaps");
    EXPECT_EQ(mode.status, 400u);
    auto all = co_await call_as(admin_, "GET", "/sessions");
    EXPECT_TRUE(ids_of(all).empty());
  });
}

TEST_P(SessionApi, SessionsBeyondTheQuota_Are429UntilOneEnds) {
  quotas_.limits.sessions = 1;
  serve([this]() -> Task<> {
    auto first = co_await call_as(acme_, "POST", "/sessions", R"json({"session_id": "s1"})json");
    EXPECT_EQ(first.status, 201u);
    auto second = co_await call_as(acme_, "POST", "/sessions", R"json({"session_id": "s2"})json");
    EXPECT_EQ(second.status, 429u);
    EXPECT_EQ(code_of(second), "limit_reached");
    auto others = co_await call_as(other_, "POST", "/sessions", R"json({"session_id": "s2"})json");
    EXPECT_EQ(others.status, 201u);
    auto ended = co_await call_as(acme_, "DELETE", "/sessions/acme/s1?mode=wait");
    EXPECT_EQ(ended.status, 200u);
    auto again = co_await call_as(acme_, "POST", "/sessions", R"json({"session_id": "s2"})json");
    EXPECT_EQ(again.status, 201u);
  });
}

TEST_P(SessionApi, Metrics_AreAnAdminsAndCountRunsByTheNamesOfLanguages) {
  serve([this]() -> Task<> {
    auto ran = co_await call_as(acme_, "POST", "/execute",
                                R"json({"session_id": "s1", "language": "PY", "code": "exit(3)"})json");
    EXPECT_EQ(ran.status, 200u) << json::serialize(ran.body);
    auto refused = co_await call_as(acme_, "GET", "/metrics");
    EXPECT_EQ(refused.status, 403u);
    token_ = admin_;
    http::Request request;
    request.method = "GET";
    request.target = "/metrics";
    request.fields.emplace_back("Authorization", "Bearer " + admin_);
    auto text = co_await client_->send(std::move(request), Deadline::after(60s));
    EXPECT_TRUE(text) << text.error().message;
    if (!text) co_return;
    for (const char* line : {R"(cloche_runs_total{category="runtime_error",cause="exit_code",language="python"} 1)",
                             R"(cloche_sessions{state="live"} 1)", R"(cloche_pool_sandboxes{profile="session")",
                             R"(cloche_http_requests_total{method="POST",route="/execute",status="200"} 1)"}) {
      EXPECT_THAT(text->body, HasSubstr(line));
    }
  });
}

TEST_P(SessionApi, SandboxThatDies_LosesTheSessionWhichSaysWhyUntilMadeAnew) {
  serve([this]() -> Task<> {
    auto made = co_await call_as(acme_, "POST", "/bash", R"json({"session_id": "s1", "command": "echo on"})json");
    EXPECT_EQ(made.status, 200u) << json::serialize(made.body);
    auto live = co_await call_as(acme_, "GET", "/sessions/acme/s1");
    const pid_t first = testing_support::first_process_of(target(), live.text("sandbox"));
    EXPECT_GT(first, 1);
    if (first > 1) ::kill(first, SIGKILL);
    unsigned status = 200;
    Answered lost;
    const Deadline patience = Deadline::after(30s);
    while (status == 200 && !patience.passed()) {
      lost = co_await call_as(acme_, "POST", "/bash", R"json({"session_id": "s1", "command": "echo on"})json");
      status = lost.status;
    }
    EXPECT_EQ(status, 410u) << json::serialize(lost.body);
    EXPECT_EQ(code_of(lost), "sandbox_lost");
    auto shown = co_await call_as(acme_, "GET", "/sessions/acme/s1");
    EXPECT_EQ(shown.text("state"), "lost");
    EXPECT_NE(shown.text("lost_because"), "");
    auto anew = co_await call_as(acme_, "POST", "/sessions", R"json({"session_id": "s1"})json");
    EXPECT_EQ(anew.status, 201u) << json::serialize(anew.body);
    auto ran = co_await call_as(acme_, "POST", "/bash", R"json({"session_id": "s1", "command": "echo on"})json");
    EXPECT_EQ(ran.text("stdout"), "on\n");
  });
}

TEST_P(SessionApi, EngineThatGoesAwayMidRequest_GivesATypedErrorAndIsNamedByReadiness) {
  if (target().backend != "docker") CLOCHE_DOES_NOT_APPLY("there is no engine");
  const std::string engine = std::getenv("CLOCHE_TEST_DOCKER_HOST");
  if (!engine.starts_with("unix://")) CLOCHE_DOES_NOT_APPLY("only an engine at a unix socket can be cut off");
  testing_support::EngineGate gate(scratch_.path() / "engine.sock", engine.substr(7));
  adjust_ = [&, tokens = adjust_](server::ServiceOptions& options) {
    tokens(options);
    options.config.manager.engine.docker_host = gate.host();
  };
  serve([&, this]() -> Task<> {
    auto made = co_await call_as(acme_, "POST", "/bash", R"json({"session_id": "s1", "command": "echo on"})json");
    EXPECT_EQ(made.status, 200u) << json::serialize(made.body);
    TaskGroup beside(io_.get_executor());
    beside.spawn("engine goes", [&]() -> Task<> {
      const Deadline patience = Deadline::after(testing_support::patience);
      while (testing_support::process_with("104729") == 0 && !patience.passed()) co_await pause_for(20ms);
      gate.shut();
    });
    auto cut = co_await call_as(acme_, "POST", "/bash", R"json({"session_id": "s1", "command": "sleep 104729"})json");
    EXPECT_EQ(cut.status, 410u) << json::serialize(cut.body);
    EXPECT_EQ(code_of(cut), "sandbox_lost");
    co_await beside.join();
    auto ready = co_await call("GET", "/readyz");
    EXPECT_EQ(ready.status, 503u);
    EXPECT_THAT(json::serialize(ready.body), HasSubstr(R"("backend":"docker")"));
    gate.open();
    auto anew = co_await call_as(acme_, "POST", "/sessions", R"json({"session_id": "s1"})json");
    EXPECT_EQ(anew.status, 201u) << json::serialize(anew.body);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SessionApi, testing::Values(Target{"oci", "crun"}, Target{"docker", "runc"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
