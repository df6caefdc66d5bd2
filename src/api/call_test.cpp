#include "api/call.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <map>

#include "api/call_origin.hpp"
#include "api/errors.hpp"
#include "auth/testing/scratch.hpp"
#include "auth/tokens/token_file.hpp"
#include "http/server/request/json_body.hpp"
#include "http/server/testing/served.hpp"

namespace cloche::api {
namespace {

using auth::testing::HandClock;
using auth::testing::ScratchDir;
using http::Response;
using testing::HasSubstr;

// A server with an ApiGuard, in front of routes that return the caller.
class Door : public http::testing::Served {
 protected:
  // Tokens are asked for from now on.
  std::string make_token(const std::string& tenant, auth::Role role) {
    token_file_ = scratch_ / "tokens.json";
    auth::TokenRequest request;
    request.tenant = tenant;
    request.role = role;
    const auto made = auth::TokenFile(*token_file_, clock_.clocks()).create(request);
    EXPECT_TRUE(made) << made.error().message;
    token_id_ = made->record.id;
    return made->text;
  }

  void serve(const std::function<Task<>()>& body) {
    auth::AuthOptions options;
    options.token_file = token_file_;
    auto authenticator = auth::Authenticator::open(options, clock_.clocks());
    ASSERT_TRUE(authenticator) << authenticator.error().message;
    auth::Quotas quotas(quota_options_, clock_.clocks().steady);
    const ApiGuard door(*authenticator, quotas);
    http::Router<http::RouteHandler> router;
    door.open(calls(), router);
    router.add("GET", "/detail", door.guard(&who, ErrorForm::detail));
    router.add("GET", "/detail/none", door.guard(&nothing, ErrorForm::detail));
    handler_ = http::serve_routes(std::move(router));
    options_.error_body = error_body_of_server;
    run(body);
  }

  Task<Response> get(std::string path, std::string fields) {
    return ask("GET " + path + " HTTP/1.1\r\n" + fields + "\r\n");
  }
  Task<Response> get_with(std::string path, std::string token) {
    return get(std::move(path), "Host: far.example\r\nAuthorization: Bearer " + token + "\r\n");
  }
  std::string here() const { return "localhost:" + std::to_string(port()); }

  static std::string code_of(const Response& response) {
    const auto body = boost::json::parse(response.body);
    return std::string(body.at("error").at("code").as_string());
  }

  ScratchDir scratch_;
  HandClock clock_;
  std::optional<std::string> token_file_;
  std::string token_id_;
  auth::QuotaOptions quota_options_;

 private:
  static Task<Status> who(Call& call) {
    CLOCHE_CO_TRY(const auto tenant, call.tenant(std::nullopt));
    http::Fields fields;
    std::string body = tenant.name() + " " + std::string(to_string(call.principal.role));
    co_return co_await call.exchange.respond(200, std::move(fields), std::move(body));
  }

  static Task<Status> whose(Call& call) {
    CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
    http::Fields fields;
    std::string body = tenant.name();
    co_return co_await call.exchange.respond(200, std::move(fields), std::move(body));
  }

  static Task<Status> nothing(Call&) { co_return fail(ErrorCode::not_found, "there is nothing"); }

  static Task<Status> broken(Call&) { co_return fail(ErrorCode::internal, "a path of the server: /secret"); }

  static Task<Status> half(Call& call) {
    http::Fields fields;
    CLOCHE_CO_CHECK(co_await call.exchange.respond(200, std::move(fields), "said"));
    co_return fail(ErrorCode::internal, "too late to say so");
  }

  static Task<Status> json(Call& call) {
    http::JsonLimits limits;
    limits.size = kib(1);
    CLOCHE_CO_TRY(const auto body, co_await http::read_json(call.exchange, limits));
    co_return co_await http::respond_json(call.exchange, 200, body);
  }

  static CallRouter calls() {
    CallRouter router;
    router.add("GET", "/who", &who);
    router.add("GET", "/tenants/{tenant}", &whose);
    router.add("GET", "/nothing", &nothing);
    router.add("GET", "/broken", &broken);
    router.add("GET", "/half", &half);
    router.add("POST", "/json", &json);
    return router;
  }
};

TEST_F(Door, NoTokens_CallerOnThisMachineIsTheAdminOfDefault) {
  serve([this]() -> Task<> {
    for (const std::string host :
         {"localhost", "LocalHost:1", "127.0.0.1", "127.0.0.1:8080", "127.9.9.9", "[::1]", "[::1]:8080"}) {
      const Response response = co_await get("/who", "Host: " + host + "\r\n");
      EXPECT_EQ(response.status, 200u) << host;
      EXPECT_EQ(response.body, "default admin");
    }
    const Response prefixed = co_await get("/v1/sandbox/who", "Host: localhost\r\n");
    EXPECT_EQ(prefixed.body, "default admin");
    const Response any = co_await get("/tenants/acme", "Host: localhost\r\n");
    EXPECT_EQ(any.body, "acme");
  });
}

TEST_F(Door, NoTokensAndAnotherHost_IsRefused) {
  serve([this]() -> Task<> {
    for (const std::string host :
         {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1",
          "0.0.0.0", "[::2]", "localhost:8080:9", "127.0.0.1:x", "2130706433", "127.1", "[::1]evil"}) {
      const Response response = co_await get("/who", "Host: " + host + "\r\n");
      EXPECT_EQ(response.status, 403u) << host;
      EXPECT_EQ(code_of(response), "permission_denied");
    }
    const Response nameless = co_await ask("GET /who HTTP/1.0\r\n\r\n");
    EXPECT_EQ(nameless.status, 403u);
  });
}

TEST_F(Door, NoTokensAndAPageOfAnotherOrigin_IsRefused) {
  serve([this]() -> Task<> {
    const std::string host = "Host: " + here() + "\r\n";
    for (const std::string origin : {"http://evil.example", "null", "http://localhost:1", "http://localhost",
                                     "https://localhost", "file://", ""}) {
      const Response response = co_await get("/who", host + "Origin: " + origin + "\r\n");
      EXPECT_EQ(response.status, 403u) << origin;
    }
    const Response own = co_await get("/who", host + "Origin: http://" + here() + "\r\n");
    EXPECT_EQ(own.status, 200u);
    const Response two =
        co_await get("/who", host + "Origin: http://" + here() + "\r\nOrigin: http://evil.example\r\n");
    EXPECT_EQ(two.status, 403u);
    for (const std::string site : {"cross-site", "same-site", "what"}) {
      const Response response = co_await get("/who", host + "Sec-Fetch-Site: " + site + "\r\n");
      EXPECT_EQ(response.status, 403u) << site;
    }
    for (const std::string site : {"same-origin", "none"}) {
      const Response response = co_await get("/who", host + "Sec-Fetch-Site: " + site + "\r\n");
      EXPECT_EQ(response.status, 200u) << site;
    }
  });
}

TEST_F(Door, TokenSentToAServerWithoutTokens_IsRefused) {
  serve([this]() -> Task<> {
    const std::string token = "cloche_" + std::string(16, 'a') + "_" + std::string(64, 'b');
    const Response response = co_await get("/who", "Host: localhost\r\nAuthorization: Bearer " + token + "\r\n");
    EXPECT_EQ(response.status, 401u);
  });
}

TEST_F(Door, GoodToken_IsWhoItSaysWhateverTheHost) {
  const std::string user = make_token("acme", auth::Role::user);
  const std::string admin = make_token("root", auth::Role::admin);
  serve([&, this]() -> Task<> {
    const Response who = co_await get_with("/who", user);
    EXPECT_EQ(who.body, "acme user");
    const Response own = co_await get_with("/tenants/acme", user);
    EXPECT_EQ(own.body, "acme");
    const Response others = co_await get_with("/tenants/other", user);
    EXPECT_EQ(others.status, 403u);
    EXPECT_EQ(code_of(others), "permission_denied");
    const Response any = co_await get_with("/tenants/other", admin);
    EXPECT_EQ(any.body, "other");
    const Response impossible = co_await get_with("/tenants/a%20b", admin);
    EXPECT_EQ(impossible.status, 400u);
    const Response page = co_await get(
        "/who", "Host: far.example\r\nOrigin: http://app.example\r\nAuthorization: bearer " + user + "\r\n");
    EXPECT_EQ(page.status, 200u);
  });
}

TEST_F(Door, MissingOrWrongToken_Is401WithAChallenge) {
  const std::string token = make_token("acme", auth::Role::user);
  const std::vector<std::string> wrongs{
      "Bearer " + token + "0", "Bearer x", "Basic " + token,
      "Bearer a.b.c",          "",         "Bearer " + token.substr(0, token.size() - 1) + "g"};
  serve([&, this]() -> Task<> {
    const Response missing = co_await get("/who", "Host: localhost\r\n");
    EXPECT_EQ(missing.status, 401u);
    EXPECT_EQ(missing.field("WWW-Authenticate"), "Bearer");
    EXPECT_EQ(code_of(missing), "unauthenticated");
    for (const std::string& wrong : wrongs) {
      const Response response = co_await get("/who", "Host: localhost\r\nAuthorization: " + wrong + "\r\n");
      EXPECT_EQ(response.status, 401u) << wrong;
      EXPECT_THAT(std::string(response.field("WWW-Authenticate")), HasSubstr("Bearer error=\"invalid_token\""));
      EXPECT_THAT(response.body, testing::Not(HasSubstr(token.substr(30))));
    }
    const Response twice = co_await get(
        "/who", "Host: localhost\r\nAuthorization: Bearer " + token + "\r\nauthorization: Bearer " + token + "\r\n");
    EXPECT_EQ(twice.status, 400u);
  });
}

TEST_F(Door, TokenFileThatCannotBeRead_Is503) {
  const std::string token = make_token("acme", auth::Role::user);
  serve([&, this]() -> Task<> {
    EXPECT_EQ(::chmod(token_file_->c_str(), 0644), 0);
    clock_.pass(std::chrono::seconds(2));
    const Response response = co_await get_with("/who", token);
    EXPECT_EQ(response.status, 503u);
    EXPECT_EQ(code_of(response), "unavailable");
    EXPECT_FALSE(response.field("Retry-After").empty());
    EXPECT_THAT(response.body, testing::Not(HasSubstr("tokens.json")));
  });
}

TEST_F(Door, TooManyRequests_Are429WithRetryAfter) {
  const std::string first = make_token("acme", auth::Role::user);
  const std::string other = make_token("other", auth::Role::user);
  quota_options_.limits.requests = auth::Rate{.per_second = 0.1, .burst = 2};
  serve([&, this]() -> Task<> {
    for (const unsigned status : {200u, 200u, 429u}) {
      const Response response = co_await get_with("/who", first);
      EXPECT_EQ(response.status, status);
      EXPECT_EQ(response.field("Retry-After"), status == 429 ? "10" : "");
      EXPECT_EQ(response.body.find("limit_reached") != std::string::npos, status == 429);
    }
    const Response unaffected = co_await get_with("/who", other);
    EXPECT_EQ(unaffected.status, 200u);
    clock_.pass(std::chrono::seconds(10));
    const Response again = co_await get_with("/who", first);
    EXPECT_EQ(again.status, 200u);
  });
}

TEST_F(Door, DetailForm_TellsErrorsAsTheLeaseInterfaceDoes) {
  const std::string token = make_token("acme", auth::Role::user);
  serve([&, this]() -> Task<> {
    const Response missing = co_await get("/detail", "Host: localhost\r\n");
    EXPECT_EQ(missing.status, 401u);
    EXPECT_EQ(missing.field("WWW-Authenticate"), "Bearer");
    EXPECT_THAT(missing.body, HasSubstr("{\"detail\":\"missing token"));
    const Response nothing = co_await get_with("/detail/none", token);
    EXPECT_EQ(nothing.status, 404u);
    EXPECT_EQ(nothing.body, "{\"detail\":\"there is nothing\"}");
  });
}

TEST_F(Door, HandlersError_IsAnsweredUnlessAnAnswerBegan) {
  serve([this]() -> Task<> {
    const Response nothing = co_await get("/nothing", "Host: localhost\r\n");
    EXPECT_EQ(nothing.status, 404u);
    EXPECT_EQ(code_of(nothing), "not_found");
    const Response broken = co_await get("/broken", "Host: localhost\r\n");
    EXPECT_EQ(broken.status, 500u);
    EXPECT_THAT(broken.body, testing::Not(HasSubstr("/secret")));
    const Response half = co_await get("/half", "Host: localhost\r\n");
    EXPECT_EQ(half.status, 200u);
    EXPECT_EQ(half.body, "said");
  });
}

TEST_F(Door, BodyOfNoUse_IsAnsweredWithTheStatusThatFits) {
  serve([this]() -> Task<> {
    const auto post = [this](std::string type, std::string body) {
      return ask("POST /json HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + type +
                 "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    };
    const Response good = co_await post("application/json", "{\"a\":1}");
    EXPECT_EQ(good.body, "{\"a\":1}");
    const Response text = co_await post("text/plain", "{\"a\":1}");
    EXPECT_EQ(text.status, 415u);
    EXPECT_EQ(code_of(text), "unsupported_media_type");
    const Response large = co_await post("application/json", std::string(2000, ' '));
    EXPECT_EQ(large.status, 413u);
    EXPECT_EQ(code_of(large), "too_large");
    const Response wrong = co_await post("application/json", "{");
    EXPECT_EQ(wrong.status, 400u);
  });
}

TEST_F(Door, Requests_AreLabelledForTheAccessLog) {
  const std::string token = make_token("acme", auth::Role::user);
  std::vector<std::map<std::string, std::string>> records;
  options_.access_log = [&](const http::AccessRecord& record) {
    records.emplace_back(record.labels.begin(), record.labels.end());
  };
  serve([&, this]() -> Task<> {
    co_await get_with("/v1/sandbox/tenants/acme?secret=1", token);
    co_await get("/who", "Host: localhost\r\n");
  });
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0], (std::map<std::string, std::string>{
                            {"route", "/v1/sandbox/tenants/{tenant}"}, {"tenant", "acme"}, {"token", token_id_}}));
  EXPECT_EQ(records[1], (std::map<std::string, std::string>{{"route", "/who"}, {"refused", "missing"}}));
}

TEST(CallOrigin, UnixSocket_NeedsNoHost) {
  http::Peer peer;
  peer.process.emplace();
  EXPECT_TRUE(check_call_origin({}, peer));
  EXPECT_TRUE(check_call_origin({{"Host", "localhost"}}, peer));
  EXPECT_FALSE(check_call_origin({{"Host", "evil.example"}}, peer));
  EXPECT_FALSE(check_call_origin({}, http::Peer{.address = "127.0.0.1"}));
}

TEST(CallOrigin, EncryptedConnection_HasAnOriginOfHttps) {
  const http::Peer peer{.address = "127.0.0.1", .encrypted = true};
  EXPECT_TRUE(check_call_origin({{"Host", "localhost:1"}, {"Origin", "https://localhost:1"}}, peer));
  EXPECT_FALSE(check_call_origin({{"Host", "localhost:1"}, {"Origin", "http://localhost:1"}}, peer));
}

}  // namespace
}  // namespace cloche::api
