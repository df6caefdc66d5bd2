#include "backend/kubernetes/api/api.hpp"

#include "backend/kubernetes/api/status.hpp"
#include "backend/kubernetes/testing/over_fake_cluster.hpp"

namespace cloche::kubernetes {
namespace {

using http::testing::Peer;
using http::testing::ReceivedRequest;
using ::testing::HasSubstr;
using testing::status_body;

TEST(StatusError, Reasons_BecomeCodesAndAdvice) {
  const Error narrow =
      error_of("POST /pods", 403,
               status_body(403, "Forbidden", "pods is forbidden: User \"x\" cannot create resource \"pods\""));
  EXPECT_EQ(narrow.code, ErrorCode::permission_denied);
  EXPECT_THAT(narrow.message, HasSubstr("cannot create resource"));
  EXPECT_THAT(narrow.message, HasSubstr("grant this verb"));
  const Error quota =
      error_of("POST /pods", 403, status_body(403, "Forbidden", "exceeded quota: q, requested: pods=1"));
  EXPECT_EQ(quota.code, ErrorCode::limit_reached);
  EXPECT_THAT(quota.message, HasSubstr("ResourceQuota"));
  const Error policy =
      error_of("POST /pods", 403, status_body(403, "Forbidden", "violates PodSecurity \"restricted\""));
  EXPECT_THAT(policy.message, HasSubstr("baseline"));
  EXPECT_EQ(error_of("x", 404, "").code, ErrorCode::not_found);
  EXPECT_EQ(error_of("x", 409, "").code, ErrorCode::already_exists);
  EXPECT_EQ(error_of("x", 422, "").code, ErrorCode::invalid_argument);
  EXPECT_EQ(error_of("x", 503, "").code, ErrorCode::unavailable);
  EXPECT_THAT(error_of("x", 500, "plain\ntext").message, HasSubstr("500 plain text"));
}

class ApiTest : public testing::OverFakeCluster {};

TEST_F(ApiTest, Request_CarriesTheTokenAndIsRepeatedWhenTheServerIsBusy) {
  int tries = 0;
  cluster_.server().on("GET /version", [&tries](ReceivedRequest request, Peer& peer) -> Task<> {
    EXPECT_THAT(request.head, HasSubstr("Authorization: Bearer secret-token"));
    const int status = ++tries == 1 ? 429 : tries == 2 ? 503 : 200;
    std::string more = status == 429 ? "Retry-After: 0\r\n" : "";
    co_await peer.reply(status, "{}", std::move(more));
  });
  run([this]() -> Task<> {
    auto version = co_await api()->get("/version", soon());
    EXPECT_TRUE(version) << version.error().message;
  });
  EXPECT_EQ(tries, 3);
}

TEST_F(ApiTest, ServerThatStaysBusy_IsTheErrorAtTheDeadline) {
  cluster_.server().on("GET /version", 429, status_body(429, "TooManyRequests", "later"));
  run([this]() -> Task<> {
    auto version = co_await api()->get("/version", Deadline::after(std::chrono::milliseconds(250)));
    EXPECT_TRUE(!version && version.error().code == ErrorCode::limit_reached);
  });
}

TEST_F(ApiTest, List_FollowsPages_AndBeginsAgainIfTheyExpire) {
  int firsts = 0;
  bool is_expired = true;
  cluster_.server().on("GET /things", [&](ReceivedRequest request, Peer& peer) -> Task<> {
    if (request.target.find("continue=c%2F1") == std::string::npos) {
      ++firsts;
      co_await peer.reply(200, R"({"items":[{"n":1}],"metadata":{"continue":"c/1","resourceVersion":"4"}})");
    } else if (std::exchange(is_expired, false)) {
      co_await peer.reply(410, status_body(410, "Expired", "old"));
    } else {
      co_await peer.reply(200, R"({"items":[{"n":2}],"metadata":{"resourceVersion":"5"}})");
    }
  });
  run([this]() -> Task<> {
    auto listed = co_await api()->list("/things", "labelSelector=x", soon());
    EXPECT_TRUE(listed);
    if (!listed) co_return;
    EXPECT_EQ(listed->items.size(), 2U);
    EXPECT_EQ(listed->resource_version, "5");
  });
  EXPECT_EQ(firsts, 2);
}

TEST_F(ApiTest, ListThatDoesNotEnd_IsAViolation) {
  cluster_.server().on("GET /things", 200, R"({"items":[],"metadata":{"continue":"c"}})");
  run([this]() -> Task<> {
    auto listed = co_await api()->list("/things", "", soon());
    EXPECT_TRUE(!listed && listed.error().code == ErrorCode::protocol);
  });
}

TEST_F(ApiTest, Patches_HaveTheirTypes_AndALostRaceIsInvalid) {
  std::vector<std::string> heads;
  cluster_.server().on("PATCH /thing", [&](ReceivedRequest request, Peer& peer) -> Task<> {
    heads.push_back(request.head);
    const bool is_json = request.head.find("json-patch+json") != std::string::npos;
    std::string body = "{}";
    if (is_json) body = status_body(422, "Invalid", "test failed");
    co_await peer.reply(is_json ? 422 : 200, std::move(body));
  });
  run([this]() -> Task<> {
    json::value nothing = json::object();
    auto merged = co_await api()->patch("/thing", Api::PatchType::merge, std::move(nothing), soon());
    EXPECT_TRUE(merged);
    json::value operations = json::array{json::object{{"op", "test"}}};
    auto lost = co_await api()->patch("/thing", Api::PatchType::json, std::move(operations), soon());
    EXPECT_TRUE(!lost && lost.error().code == ErrorCode::invalid_argument);
  });
  ASSERT_EQ(heads.size(), 2U);
  EXPECT_THAT(heads[0], HasSubstr("application/strategic-merge-patch+json"));
}

TEST_F(ApiTest, Removal_NamesTheUid_AndIsDoneIfItIsGone) {
  std::string body;
  int status = 200;
  cluster_.server().on("DELETE /thing", [&](ReceivedRequest request, Peer& peer) -> Task<> {
    body = request.body;
    co_await peer.reply(status, "{}");
  });
  run([&]() -> Task<> {
    for (const int each : {200, 404, 409}) {
      status = each;
      auto removed = co_await api()->remove("/thing", "u-1", soon());
      EXPECT_TRUE(removed) << each;
    }
    status = 403;
    auto refused = co_await api()->remove("/thing", "u-1", soon());
    EXPECT_TRUE(!refused && refused.error().code == ErrorCode::permission_denied);
  });
  EXPECT_THAT(body, HasSubstr(R"("gracePeriodSeconds":0)"));
  EXPECT_THAT(body, HasSubstr(R"("uid":"u-1")"));
}

TEST_F(ApiTest, WithoutACluster_TheErrorSaysWhatToSet) {
  KubernetesSettings settings;
  Api nothing(io_.get_executor(), pool_, settings);
  run([&]() -> Task<> {
    auto version = co_await nothing.get("/version", soon());
    EXPECT_TRUE(!version && version.error().code == ErrorCode::invalid_argument);
    EXPECT_THAT(version.error().message, HasSubstr("KUBECONFIG"));
  });
}

TEST_F(ApiTest, RequestsBeyondThePace_Wait) {
  run([]() -> Task<> {
    Pace pace(1000, 2);
    for (int i = 0; i < 5; ++i) {
      const bool has_turn = co_await pace.take(soon());
      EXPECT_TRUE(has_turn);
    }
    Pace slow(0.001, 1);
    const bool first = co_await slow.take(soon());
    const bool second = co_await slow.take(soon());
    EXPECT_TRUE(first);
    EXPECT_FALSE(second) << "its turn would come after the deadline";
  });
}

}  // namespace
}  // namespace cloche::kubernetes
