// Engine calls against an engine that answers as it likes.
#include "backend/docker/engine/engine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backend/docker/engine/container_calls.hpp"
#include "backend/docker/engine/engine_facts.hpp"
#include "backend/docker/engine/image_calls.hpp"
#include "backend/docker/reaper.hpp"
#include "http/testing/scripted_server.hpp"

namespace cloche::docker {
namespace {

using namespace std::chrono_literals;
using http::testing::Peer;
using http::testing::ReceivedRequest;

class EngineCalls : public ::testing::Test {
 protected:
  EngineCalls() { server_.on("GET /version", 200, R"({"ApiVersion":"1.41","MinAPIVersion":"1.12"})"); }

  void run(const std::function<Task<>()>& body) {
    EXPECT_TRUE(http::testing::run_to_end(io_, [this, body]() -> Task<> {
      co_await body();
      co_await server_.stop();
    }));
  }
  static Deadline soon() { return Deadline::after(10s); }

  asio::io_context io_;
  http::testing::ScriptedServer server_{io_.get_executor()};
  std::shared_ptr<Engine> engine_ = std::make_shared<Engine>(io_.get_executor(), server_.endpoint());
};

#define EXPECT_ERROR(result, expected)                                        \
  do {                                                                        \
    EXPECT_FALSE(result);                                                     \
    if (!(result)) {                                                          \
      EXPECT_EQ((result).error().code, expected) << (result).error().message; \
    }                                                                         \
  } while (false)

TEST_F(EngineCalls, Version_IsAskedOnceAndPutBeforeEveryPath) {
  server_.on("GET /v1.41/info", 200, "{}");
  run([this]() -> Task<> {
    for (int i = 0; i < 3; ++i) {
      auto facts = co_await fetch_facts(*engine_, soon());
      EXPECT_TRUE(facts);
    }
    EXPECT_EQ(server_.count("GET /version"), 1u);
    EXPECT_EQ(server_.count("GET /v1.41/info"), 3u);
  });
}

TEST_F(EngineCalls, EngineThatGaveUpOldVersions_IsSpokenToInItsOldest) {
  server_.on("GET /version", 200, R"({"ApiVersion":"1.54","MinAPIVersion":"1.44"})");
  server_.on("GET /v1.44/info", 200, "{}");
  run([this]() -> Task<> {
    auto facts = co_await fetch_facts(*engine_, soon());
    EXPECT_TRUE(facts);
  });
}

TEST_F(EngineCalls, SomethingElseThanAnEngine_IsToldApart) {
  const std::pair<const char*, ErrorCode> answers[] = {{"<html>hello</html>", ErrorCode::protocol},
                                                       {"{}", ErrorCode::protocol},
                                                       {R"({"ApiVersion":7})", ErrorCode::protocol},
                                                       {R"({"ApiVersion":"1.20"})", ErrorCode::unsupported}};
  run([this, &answers]() -> Task<> {
    for (const auto& [body, code] : answers) {
      server_.on("GET /version", 200, body);
      auto version = co_await engine_->api_version(soon());
      EXPECT_ERROR(version, code);
    }
  });
}

TEST_F(EngineCalls, AbsentEngine_SaysWhatToDo) {
  run([this]() -> Task<> {
    Engine absent(io_.get_executor(), http::UnixEndpoint{"/nonexistent/docker.sock"});
    auto version = co_await absent.api_version(soon());
    EXPECT_ERROR(version, ErrorCode::unavailable);
    if (!version) {
      EXPECT_NE(version.error().message.find("unix:///nonexistent/docker.sock"), std::string::npos);
      EXPECT_NE(version.error().message.find("DOCKER_HOST"), std::string::npos);
    }
  });
}

TEST_F(EngineCalls, ErrorStatus_CarriesMethodPathStatusAndWords) {
  server_.on("GET /v1.41/containers/x/json", 404, R"({"message":"No such container: x"})");
  run([this]() -> Task<> {
    auto details = co_await inspect_container(*engine_, "x", soon());
    EXPECT_ERROR(details, ErrorCode::not_found);
    if (!details) {
      EXPECT_EQ(details.error().message, "GET /containers/x/json: 404 No such container: x");
    }
  });
}

TEST_F(EngineCalls, PageOfUsageText_IsCutShort) {
  const std::string page(100'000, 'u');
  server_.on("GET /v1.41/containers/x/json", 500, R"({"message":"bad\n\u0007)" + page + "\"}");
  run([this]() -> Task<> {
    auto details = co_await inspect_container(*engine_, "x", soon());
    EXPECT_ERROR(details, ErrorCode::internal);
    if (!details) {
      EXPECT_LT(details.error().message.size(), 1000u);
    }
    if (!details) {
      EXPECT_EQ(details.error().message.find('\n'), std::string::npos);
    }
  });
}

TEST_F(EngineCalls, NonsenseAnswers_AreErrorsAndNeverCrash) {
  run([this]() -> Task<> {
    for (const char* body : {"", "null", "7", "[]", "{}", R"({"Id":7})", "{\"Id\":\"", "not json"}) {
      server_.on("GET /v1.41/containers/x/json", 200, body);
      auto details = co_await inspect_container(*engine_, "x", soon());
      EXPECT_ERROR(details, ErrorCode::protocol);
      server_.on("GET /v1.41/images/x/json", 200, body);
      auto image = co_await inspect_image(*engine_, "x", soon());
      EXPECT_ERROR(image, ErrorCode::protocol);
      server_.on("POST /v1.41/containers/create", 201, body);
      json::object nothing;
      auto created = co_await create_container(*engine_, "x", std::move(nothing), soon());
      EXPECT_ERROR(created, ErrorCode::protocol);
    }
    const std::string deep(10'000, '[');
    server_.on("GET /v1.41/containers/json", 200, deep);
    auto list = co_await list_containers(*engine_, {}, soon());
    EXPECT_ERROR(list, ErrorCode::protocol);
  });
}

TEST_F(EngineCalls, HugeAnswer_StopsAtTheLimit) {
  server_.on("GET /v1.41/info", 200, "\"" + std::string(5 << 20, 'x') + "\"");
  run([this]() -> Task<> {
    auto facts = co_await fetch_facts(*engine_, soon());
    EXPECT_ERROR(facts, ErrorCode::limit_reached);
  });
}

TEST_F(EngineCalls, HungEngine_FailsAtTheDeadline) {
  server_.on("GET /v1.41/info", [](ReceivedRequest, Peer& peer) -> Task<> { co_await peer.receive(); });
  run([this]() -> Task<> {
    auto facts = co_await fetch_facts(*engine_, Deadline::after(50ms));
    EXPECT_ERROR(facts, ErrorCode::timeout);
  });
}

TEST_F(EngineCalls, NameWithOddBytes_StaysInItsPlace) {
  run([this]() -> Task<> {
    auto details = co_await inspect_container(*engine_, "../x?y=1\r\n\xff", soon());
    EXPECT_ERROR(details, ErrorCode::not_found);
    EXPECT_EQ(server_.count("GET /v1.41/containers/..%2Fx%3Fy%3D1%0D%0A%FF/json"), 1u);
  });
}

ImageReference some_image() { return {"team/app", "v1"}; }

TEST_F(EngineCalls, Pull_ReportsProgressLineByLine) {
  server_.on("POST /v1.41/images/create?fromImage=team%2Fapp&tag=v1", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const char* part : {R"({"status":"Pulling from a)", "\"}\r\n", R"({"status":"Done","id":"l1"})", "\r\n"}) {
      co_await peer.send(fmt::format("{:x}\r\n{}\r\n", std::strlen(part), part));
    }
    co_await peer.send("0\r\n\r\n");
  });
  run([this]() -> Task<> {
    std::vector<std::string> seen;
    Progress progress = [&seen](std::string_view line) { seen.emplace_back(line); };
    auto reference = some_image();
    auto pulled = co_await pull_image(*engine_, std::move(reference), std::move(progress), soon());
    EXPECT_TRUE(pulled) << pulled.error().message;
    EXPECT_EQ(seen, (std::vector<std::string>{"Pulling from a", "l1: Done"}));
  });
}

TEST_F(EngineCalls, PullThatFailsAfterStatus200_IsAnError) {
  server_.on("POST /v1.41/images/create", 200,
             "{\"status\":\"Pulling\"}\r\n{\"errorDetail\":{\"message\":\"manifest unknown\"},\"error\":\"manifest "
             "unknown\"}\r\n");
  run([this]() -> Task<> {
    auto reference = some_image();
    auto pulled = co_await pull_image(*engine_, std::move(reference), nullptr, soon());
    EXPECT_FALSE(pulled);
    if (!pulled) {
      EXPECT_EQ(pulled.error().message, "POST /images/create: manifest unknown");
    }
  });
}

TEST_F(EngineCalls, PullWithNonsense_IsAnError) {
  run([this]() -> Task<> {
    const std::pair<std::string, ErrorCode> bodies[] = {{"{\"status\":\"a\"}\nnot json\n", ErrorCode::protocol},
                                                        {"{\"status\":\"cut", ErrorCode::protocol},
                                                        {std::string(70 << 10, 'x'), ErrorCode::limit_reached}};
    for (const auto& [body, code] : bodies) {
      server_.on("POST /v1.41/images/create", 200, body);
      auto reference = some_image();
      auto pulled = co_await pull_image(*engine_, std::move(reference), nullptr, soon());
      EXPECT_ERROR(pulled, code);
    }
  });
}

TEST_F(EngineCalls, PullThatBreaksOff_IsAnError) {
  server_.on("POST /v1.41/images/create", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"status\":\"Pull\"");
    peer.hang_up();
  });
  run([this]() -> Task<> {
    auto reference = some_image();
    auto pulled = co_await pull_image(*engine_, std::move(reference), nullptr, soon());
    EXPECT_ERROR(pulled, ErrorCode::unavailable);
  });
}

TEST_F(EngineCalls, RemovalUnderWay_IsWaitedFor) {
  int left = 3;
  server_.on("DELETE /v1.41/containers/x", 409, R"({"message":"removal of container x is already in progress"})");
  server_.on("GET /v1.41/containers/x/json", [&left](ReceivedRequest, Peer& peer) -> Task<> {
    if (--left > 0)
      co_await peer.reply(200, R"({"Id":"x"})");
    else
      co_await peer.reply(404, R"({"message":"gone"})");
  });
  run([this, &left]() -> Task<> {
    auto removed = co_await remove_for_good(engine_, "x", soon());
    EXPECT_TRUE(removed) << removed.error().message;
    EXPECT_EQ(left, 0);
  });
}

TEST_F(EngineCalls, RemovalThatNeverEnds_IsAnErrorAtTheDeadline) {
  server_.on("DELETE /v1.41/containers/x", 500, R"({"message":"device or resource busy"})");
  server_.on("GET /v1.41/containers/x/json", 200, R"({"Id":"x"})");
  run([this]() -> Task<> {
    auto removed = co_await remove_for_good(engine_, "x", Deadline::after(150ms));
    EXPECT_FALSE(removed);
    if (!removed) {
      EXPECT_NE(removed.error().message.find("busy"), std::string::npos) << removed.error().message;
    }
  });
}

TEST_F(EngineCalls, ListWithForeignContainers_YieldsOnlyWhatBearsTheLabels) {
  server_.on(
      "GET /v1.41/containers/json", 200,
      R"([{"Id":"1","Labels":{"a":"b"}},{"Id":"2","Labels":{"a":"c"}},{"Id":"3","Labels":null},{"Id":"4"},7,null])");
  run([this]() -> Task<> {
    LabelMap wanted;
    wanted["a"] = "b";
    auto found = co_await list_containers(*engine_, std::move(wanted), soon());
    EXPECT_TRUE(found);
    if (found) {
      EXPECT_EQ(found->size(), 1u);
    }
  });
}

}  // namespace
}  // namespace cloche::docker
