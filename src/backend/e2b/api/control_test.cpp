// The control plane when it behaves, and when it does not.
#include "backend/e2b/api/control.hpp"

#include "backend/e2b/testing/backend_over_fake_service.hpp"

namespace cloche::e2b {
namespace {

using namespace std::chrono_literals;
using http::testing::Peer;
using http::testing::ReceivedRequest;

class E2bControl : public testing::OverFakeService {
 protected:
  static NewSandbox wanted() {
    NewSandbox made;
    made.template_name = "base";
    made.lifetime_s = 60;
    made.metadata = {{"cloche.sandbox", "sb1"}};
    return made;
  }
  // Answers the first creations so, and then as usual.
  void refuse_first(int times, int status, std::string fields = "") {
    service_.on_create = [this, times, status, fields](ReceivedRequest request, Peer& peer) mutable -> Task<> {
      if (times-- > 0) {
        co_await peer.reply(status, R"({"code":1,"message":"not now"})", fields);
        co_return;
      }
      co_await service_.create(std::move(request), peer);
    };
  }
};

TEST_F(E2bControl, Sandbox_IsMadeDescribedProlongedAndRemoved) {
  run([this]() -> Task<> {
    const auto service = control();
    bool has_answered = false;
    NewSandbox asked = wanted();
    auto made = co_await service->create(std::move(asked), has_answered, soon());
    EXPECT_TRUE(made) << made.error().message;
    if (!made) co_return;
    EXPECT_TRUE(has_answered);
    EXPECT_FALSE(made->may_have_twin);
    const std::string id = made->sandbox.id;
    EXPECT_EQ(service_.sandboxes.at(id).lifetime, 60);
    auto about = co_await service->detail(id, soon());
    EXPECT_TRUE(about && about->memory == mib(512));
    auto prolonged = co_await service->set_lifetime(id, 120, soon());
    EXPECT_TRUE(prolonged);
    EXPECT_EQ(service_.sandboxes.at(id).lifetime, 120);
    for (int i = 0; i < 2; ++i) {
      auto removed = co_await service->remove(id, soon());
      EXPECT_TRUE(removed) << "a second time is fine";
    }
    EXPECT_TRUE(service_.sandboxes.empty());
    auto gone = co_await service->detail(id, soon());
    EXPECT_TRUE(!gone && gone.error().code == ErrorCode::not_found);
    auto late = co_await service->set_lifetime(id, 120, soon());
    EXPECT_TRUE(!late && late.error().code == ErrorCode::not_found);
  });
}

TEST_F(E2bControl, RateLimit_IsWaitedOutAsLongAsTheServiceAsks) {
  refuse_first(1, 429, "Retry-After: 1\r\n");
  run([this]() -> Task<> {
    bool has_answered = false;
    const auto start = Deadline::Clock::now();
    NewSandbox asked = wanted();
    auto made = co_await control()->create(std::move(asked), has_answered, soon());
    EXPECT_TRUE(made) << made.error().message;
    EXPECT_GE(Deadline::Clock::now() - start, 1s);
    EXPECT_TRUE(made && !made->may_have_twin);
  });
}

TEST_F(E2bControl, RateLimitBeyondTheDeadline_IsAnErrorAtOnce) {
  refuse_first(5, 429, "Retry-After: 3600\r\n");
  run([this]() -> Task<> {
    bool has_answered = false;
    NewSandbox asked = wanted();
    auto made = co_await control()->create(std::move(asked), has_answered, soon());
    EXPECT_TRUE(!made && made.error().code == ErrorCode::limit_reached);
    EXPECT_TRUE(has_answered) << "the service made none";
    EXPECT_EQ(service_.server().count("POST /sandboxes"), 1U);
  });
}

TEST_F(E2bControl, BusyService_IsAskedAgain) {
  refuse_first(2, 503);
  run([this]() -> Task<> {
    bool has_answered = false;
    NewSandbox asked = wanted();
    auto made = co_await control()->create(std::move(asked), has_answered, soon());
    EXPECT_TRUE(made && !made->may_have_twin);
    EXPECT_EQ(service_.server().count("POST /sandboxes"), 3U);
  });
}

TEST_F(E2bControl, GatewayThatGaveUp_LeavesATwinPossible) {
  refuse_first(1, 504);
  run([this]() -> Task<> {
    bool has_answered = false;
    NewSandbox asked = wanted();
    auto made = co_await control()->create(std::move(asked), has_answered, soon());
    EXPECT_TRUE(made && made->may_have_twin);
  });
}

TEST_F(E2bControl, LostResponseOfACreation_IsNotRepeated) {
  service_.on_create = [](ReceivedRequest, Peer& peer) -> Task<> {
    peer.hang_up();
    co_return;
  };
  run([this]() -> Task<> {
    bool has_answered = false;
    NewSandbox asked = wanted();
    auto made = co_await control()->create(std::move(asked), has_answered, soon());
    EXPECT_TRUE(!made && made.error().code == ErrorCode::unavailable);
    EXPECT_FALSE(has_answered) << "it may have been made";
    EXPECT_EQ(service_.server().count("POST /sandboxes"), 1U);
  });
}

TEST_F(E2bControl, WrongKey_IsPermissionDeniedAndSaysWhatToDo) {
  run([this]() -> Task<> {
    E2bSettings settings = service_.settings();
    settings.api_key = "e2b_wrong";
    Control service(io_.get_executor(), settings, control_address(settings).value());
    auto checked = co_await service.check_key(soon());
    EXPECT_TRUE(!checked && checked.error().code == ErrorCode::permission_denied);
    EXPECT_NE(checked.error().message.find("E2B_API_KEY"), std::string::npos);
    EXPECT_EQ(checked.error().message.find("e2b_wrong"), std::string::npos);
    settings.api_key.clear();
    Control without(io_.get_executor(), settings, control_address(settings).value());
    auto none = co_await without.check_key(soon());
    EXPECT_TRUE(!none && none.error().message.find("E2B_API_KEY") != std::string::npos);
  });
}

TEST_F(E2bControl, UnknownTemplate_IsNotFoundAndNamed) {
  run([this]() -> Task<> {
    bool has_answered = false;
    NewSandbox other = wanted();
    other.template_name = "missing";
    auto made = co_await control()->create(std::move(other), has_answered, soon());
    EXPECT_TRUE(!made && made.error().code == ErrorCode::not_found);
    EXPECT_TRUE(!made && made.error().message.find("'missing'") != std::string::npos);
  });
}

TEST_F(E2bControl, TemplateWithoutSecuredAccess_HasAHint) {
  service_.on_create = [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.reply(400, R"({"code":400,"message":"Template is not compatible with secured access"})");
  };
  run([this]() -> Task<> {
    bool has_answered = false;
    NewSandbox asked = wanted();
    auto made = co_await control()->create(std::move(asked), has_answered, soon());
    EXPECT_TRUE(!made && made.error().message.find("E2B_SECURE_ACCESS=false") != std::string::npos);
  });
}

TEST_F(E2bControl, Garbage_IsAProtocolError) {
  const std::string large = "\"" + std::string(9 << 20, 'x') + "\"";
  const std::vector<std::string> bodies{"{", "[]", R"({"sandboxID":"../x"})", large};
  run([this, bodies]() -> Task<> {
    for (const std::string& body : bodies) {
      service_.on_create = [body](ReceivedRequest, Peer& peer) -> Task<> { co_await peer.reply(201, body); };
      bool has_answered = false;
      NewSandbox asked = wanted();
      auto made = co_await control()->create(std::move(asked), has_answered, soon());
      EXPECT_TRUE(!made && (made.error().code == ErrorCode::protocol || made.error().code == ErrorCode::limit_reached))
          << body.substr(0, 40);
    }
  });
}

TEST_F(E2bControl, ListOfSeveralPages_IsReadToItsEndAndFiltered) {
  for (int i = 0; i < 7; ++i) service_.sandboxes["i" + std::to_string(i)].metadata = {{"cloche.owner", "test"}};
  service_.sandboxes["other"].metadata = {{"cloche.owner", "another"}};
  service_.page_size = 3;
  run([this]() -> Task<> {
    Metadata wanted_owner{{"cloche.owner", "test"}};
    auto all = co_await control()->list(std::move(wanted_owner), soon());
    EXPECT_TRUE(all) << all.error().message;
    EXPECT_EQ(all ? all->size() : 0, 7U);
    EXPECT_EQ(service_.server().count("GET /v2/sandboxes"), 3U);
  });
}

TEST_F(E2bControl, ListThatIgnoresTheFilter_IsFilteredHere) {
  service_.server().on("GET /v2/sandboxes", 200,
                       R"([{"sandboxID":"a","metadata":{"cloche.owner":"another"}},{"sandboxID":"b"}])");
  run([this]() -> Task<> {
    Metadata wanted_owner{{"cloche.owner", "test"}};
    auto all = co_await control()->list(std::move(wanted_owner), soon());
    EXPECT_TRUE(all && all->empty());
  });
}

TEST_F(E2bControl, ListWithoutEnd_IsAnError) {
  service_.server().on("GET /v2/sandboxes", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.reply(200, "[]", "x-next-token: again\r\n");
  });
  run([this]() -> Task<> {
    Metadata any;
    auto all = co_await control()->list(std::move(any), soon());
    EXPECT_TRUE(!all && all.error().code == ErrorCode::protocol);
  });
}

}  // namespace
}  // namespace cloche::e2b
