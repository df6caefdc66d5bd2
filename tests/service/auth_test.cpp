// Tokens, tenants and quotas of the service, over HTTP.
#include "auth/testing/jwt_maker.hpp"
#include "auth/testing/scratch.hpp"
#include "core/async/task_group.hpp"
#include "service/service_auth.hpp"

namespace cloche {

TEST_P(ServiceAuth, NoToken_OnlyHealthIsAnswered) {
  serve([this]() -> Task<> {
    auto health = co_await call("GET", "/healthz");
    EXPECT_EQ(health.status, 200u);
    auto ready = co_await call("GET", "/readyz");
    EXPECT_NE(ready.status, 401u);
    for (const char* path : {"/stats", "/sandboxes/x/files?path=a"}) {
      auto refused = co_await call("GET", path);
      EXPECT_EQ(refused.status, 401u) << path;
      EXPECT_THAT(refused.text("detail"), HasSubstr("missing token"));
    }
    for (const char* path : {"/sandboxes/python", "/sandboxes/x/run", "/api/v1/execute"}) {
      auto refused = co_await call("POST", path, "{}");
      EXPECT_EQ(refused.status, 401u) << path;
    }
    for (const char* path : {"/sessions", "/v1/sandbox/sessions", "/metrics"}) {
      auto refused = co_await call("GET", path);
      EXPECT_EQ(refused.status, 401u) << path;
      EXPECT_EQ(refused.body.at("error").at("code").as_string(), "unauthenticated");
    }
    auto wrong = co_await call_as(acme_ + "0", "GET", "/stats");
    EXPECT_EQ(wrong.status, 401u);
  });
}

TEST_P(ServiceAuth, LeaseOfAnotherTenant_IsNotFound) {
  serve([this]() -> Task<> {
    token_ = acme_;
    const std::string id = co_await lend("python");
    const std::string run = "/sandboxes/" + id + "/run";
    const std::string command = R"json({"command": "echo mine"})json";
    auto mine = co_await call_as(acme_, "POST", run, command);
    EXPECT_EQ(mine.text("stdout"), "mine\n") << mine.text("detail");
    // Not even an admin: a lease is used by its holder only.
    for (int who = 0; who < 2; ++who) {
      const std::string stranger = who == 0 ? other_ : admin_;
      auto theirs = co_await call_as(stranger, "POST", run, command);
      EXPECT_EQ(theirs.status, 404u);
      EXPECT_EQ(theirs.text("detail"), "Sandbox not found");
      auto file = co_await call_as(stranger, "GET", "/sandboxes/" + id + "/files?path=a");
      EXPECT_EQ(file.status, 404u);
      auto back = co_await call_as(stranger, "DELETE", "/sandboxes/" + id);
      EXPECT_EQ(back.status, 404u);
      auto destroyed = co_await call_as(stranger, "DELETE", "/sandboxes/" + id + "/destroy");
      EXPECT_EQ(destroyed.status, 404u);
    }
    auto still = co_await call_as(acme_, "POST", run, command);
    EXPECT_EQ(still.status, 200u);
    auto back = co_await call_as(acme_, "DELETE", "/sandboxes/" + id);
    EXPECT_EQ(back.text("status"), "success");
  });
}

TEST_P(ServiceAuth, RevokedToken_IsRefusedSoon) {
  serve([this]() -> Task<> {
    auto good = co_await call_as(acme_, "GET", "/stats");
    EXPECT_EQ(good.status, 200u);
    const auto token = auth::parse_token(acme_);
    EXPECT_TRUE(file_.revoke(token->id));
    unsigned status = 200;
    const Deadline patience = Deadline::after(30s);
    while (status == 200 && !patience.passed()) {
      co_await pause_for(50ms);
      auto after = co_await call_as(acme_, "GET", "/stats");
      status = after.status;
    }
    EXPECT_EQ(status, 401u);
    auto others = co_await call_as(other_, "GET", "/stats");
    EXPECT_EQ(others.status, 200u);
  });
}

TEST_P(ServiceAuth, RunsBeyondTheQuota_Are429) {
  quotas_.named["acme"].runs = 0;
  serve([this]() -> Task<> {
    token_ = acme_;
    const std::string id = co_await lend("python");
    auto run = co_await call_as(acme_, "POST", "/sandboxes/" + id + "/run", R"json({"command": "true"})json");
    EXPECT_EQ(run.status, 429u);
    EXPECT_THAT(run.text("detail"), HasSubstr("0 runs"));
    const std::string submission =
        R"json({"language": "python", "submission_files": [{"filename": "main.py", "content": "print(1)"}]})json";
    auto refused = co_await call_as(acme_, "POST", "/api/v1/execute", submission);
    EXPECT_EQ(refused.status, 429u);
    auto others = co_await call_as(other_, "POST", "/api/v1/execute", submission);
    EXPECT_EQ(others.status, 200u) << others.text("detail");
  });
}

TEST_P(ServiceAuth, Jwt_IsTakenBesideTokens) {
  const std::string secret = "a-secret-of-thirty-two-characters";
  const std::string key_file = (scratch_.path() / "jwt.secret").string();
  auth::testing::put_file(key_file, secret + "\n");
  adjust_ = [&, tokens = adjust_](server::ServiceOptions& options) {
    tokens(options);
    auth::JwtOptions& jwt = options.auth.jwt.emplace();
    jwt.key_file = key_file;
    jwt.key_form = auth::KeyForm::secret;
    jwt.claims.issuer = "login";
    jwt.claims.audience = "cloche";
  };
  const auto claims = [](const std::string& tenant, const std::string& audience) {
    const auto expiry = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + 1h;
    return R"({"iss":"login","aud":")" + audience + R"(","tenant":")" + tenant + R"(","exp":)" +
           std::to_string(expiry.time_since_epoch().count()) + "}";
  };
  const std::string good = auth::testing::hs256_jwt(secret, claims("acme", "cloche"));
  const std::string elsewhere = auth::testing::hs256_jwt(secret, claims("acme", "other"));
  const std::string forged = auth::testing::hs256_jwt(secret + "!", claims("acme", "cloche"));
  serve([&, this]() -> Task<> {
    token_ = good;
    const std::string id = co_await lend("python");
    const std::string path = "/sandboxes/" + id;
    auto wrong = co_await call_as(elsewhere, "DELETE", path);
    EXPECT_EQ(wrong.status, 401u);
    auto bad = co_await call_as(forged, "DELETE", path);
    EXPECT_EQ(bad.status, 401u);
    // The same tenant, by one of Cloche's own.
    auto back = co_await call_as(acme_, "DELETE", path);
    EXPECT_EQ(back.status, 200u) << back.text("detail");
  });
}

TEST_P(ServiceAuth, NoTokensAndAnAddressForAll_IsRefused) {
  server::ServiceOptions options;
  http::ListenTcp everywhere;
  everywhere.host = "0.0.0.0";
  options.listen.emplace_back(everywhere);
  const auto service = server::Service::create(io_.get_executor(), std::move(options));
  ASSERT_FALSE(service);
  EXPECT_EQ(service.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(service.error().message, HasSubstr("without tokens"));
}

INSTANTIATE_TEST_SUITE_P(Backends, ServiceAuth, testing::Values(Target{"oci", "crun"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
