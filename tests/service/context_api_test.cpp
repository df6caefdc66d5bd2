// Contexts of a session, over HTTP.
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "service/run_api.hpp"

namespace cloche {

namespace json = boost::json;

class ContextApi : public RunApi {
 protected:
  std::string contexts(std::string_view below = "") const {
    return "/sessions/default/" + session_ + "/contexts" + std::string(below);
  }
  Task<Answered> in_context(std::string name, std::string language, std::string code) {
    json::object body;
    body["context"] = name;
    body["language"] = language;
    body["code"] = code;
    body["timeout"] = 60;
    auto answered = co_await post("/execute", std::move(body));
    co_return answered;
  }
  static std::string error_code(const Answered& answered) {
    const auto* error = answered.body.is_object() ? answered.body.get_object().if_contains("error") : nullptr;
    const auto* code = error != nullptr && error->is_object() ? error->get_object().if_contains("code") : nullptr;
    return code == nullptr ? "" : std::string(code->as_string());
  }
};

TEST_P(ContextApi, CallsInAContext_KeepTheirState) {
  serve([this]() -> Task<> {
    const auto first = co_await in_context("main", "python", "x = 20\nprint('so')\nx + 1");
    EXPECT_EQ(first.status, 200u) << json::serialize(first.body);
    EXPECT_EQ(first.text("value"), "21");
    EXPECT_EQ(first.text("stdout"), "so\n");
    EXPECT_EQ(first.text("category"), "success");
    EXPECT_EQ(first.text("state"), "kept");
    EXPECT_TRUE(first.body.at("fresh").as_bool());
    const auto second = co_await in_context("main", "python", "x / 0");
    EXPECT_EQ(second.text("category"), "runtime_error");
    EXPECT_EQ(second.body.at("error").at("name"), "ZeroDivisionError");
    EXPECT_FALSE(second.body.at("fresh").as_bool());
    const auto moved = co_await in_context("sh", "bash", "cd /tmp; y=1");
    EXPECT_EQ(moved.number("exit_code"), 0) << json::serialize(moved.body);
    const auto there = co_await in_context("sh", "bash", "echo $y $PWD; exit 4");
    EXPECT_EQ(there.text("stdout"), "1 /tmp\n");
    EXPECT_EQ(there.number("exit_code"), 4);
    EXPECT_EQ(there.text("state"), "handed_over");
    const auto plain = co_await execute("python", "print('x' in globals())");
    EXPECT_EQ(plain.text("stdout"), "False\n") << "a run without a context has nothing of one";
  });
}

TEST_P(ContextApi, Contexts_AreMadeListedRestartedAndClosed) {
  serve([this]() -> Task<> {
    const auto none = co_await call("GET", contexts());
    EXPECT_EQ(none.status, 404u) << "looking at a session does not make it";
    const auto made = co_await call("POST", contexts(), R"({"name": "main", "language": "python"})");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    EXPECT_EQ(made.text("name"), "main");
    EXPECT_EQ(made.text("language"), "python");
    EXPECT_TRUE(made.body.at("alive").as_bool());
    const auto again = co_await call("POST", contexts(), R"({"name": "main", "language": "python"})");
    EXPECT_EQ(again.status, 409u);
    const auto run = co_await in_context("main", "python", "x = 1");
    EXPECT_FALSE(run.body.at("fresh").as_bool());
    const auto other = co_await in_context("main", "bash", "echo");
    EXPECT_EQ(other.status, 409u);
    EXPECT_EQ(error_code(other), "already_exists");
    const auto list = co_await call("GET", contexts());
    EXPECT_EQ(list.body.at("contexts").as_array().size(), 1u);
    const auto restarted = co_await call("POST", contexts("/main/restart"));
    EXPECT_EQ(restarted.status, 200u) << json::serialize(restarted.body);
    const auto empty = co_await in_context("main", "python", "'x' in globals()");
    EXPECT_EQ(empty.text("value"), "False");
    const auto closed = co_await call("DELETE", contexts("/main"));
    EXPECT_EQ(closed.status, 200u);
    EXPECT_EQ(closed.text("status"), "closed");
    const auto gone = co_await call("DELETE", contexts("/main"));
    EXPECT_EQ(gone.status, 404u);
    const auto nothing = co_await call("POST", contexts("/main/restart"));
    EXPECT_EQ(nothing.status, 404u);
  });
}

TEST_P(ContextApi, BodiesThatMakeNoSense_AreRefused) {
  serve([this]() -> Task<> {
    for (const char* body :
         {R"({"name": "a b", "language": "python"})", R"({"name": "..", "language": "python"})",
          R"({"name": "main", "language": "ruby"})", R"({"name": "main"})", R"({"name": 7, "language": "bash"})",
          R"({"name": "main", "language": "bash", "more": 1})", "[]", "{"}) {
      const auto refused = co_await call("POST", contexts(), body);
      EXPECT_EQ(refused.status, 400u) << body << json::serialize(refused.body);
      EXPECT_EQ(error_code(refused), "invalid_argument") << body;
    }
    const auto ruby = co_await in_context("main", "ruby", "1");
    EXPECT_EQ(ruby.status, 400u) << json::serialize(ruby.body);
    EXPECT_THAT(json::serialize(ruby.body), HasSubstr("python, bash"));
    const auto list = co_await call("GET", contexts());
    EXPECT_EQ(list.body.at("contexts").as_array().size(), 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, ContextApi,
                         testing::Values(Target{"oci", "crun"}, Target{"oci", "runsc"}, Target{"docker", "runc"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
