// Sandboxes from their creation to their removal, with an engine that fails on the way.
#include "backend/docker/testing/backend_over_fake_engine.hpp"
#include "core/async/task_group.hpp"

namespace cloche::docker {
namespace {

using namespace std::chrono_literals;
using http::testing::Peer;
using http::testing::ReceivedRequest;
using testing::FakeEngine;
using testing::frame;

class DockerBackend : public testing::BackendOverFakeEngine {
 protected:
  // Makes a sandbox and says how reading from its channel went.
  void expect_reading(const std::string& expected) {
    run([this, expected]() -> Task<> {
      auto made = backend();
      auto wanted = spec();
      auto enclosure = co_await made->create(std::move(wanted), soon());
      EXPECT_TRUE(enclosure) << enclosure.error().message;
      if (!enclosure) co_return;
      const std::string heard = co_await read_all((*enclosure)->channel(), 1000);
      EXPECT_EQ(heard, expected);
      auto destroyed = co_await (*enclosure)->destroy(soon());
      EXPECT_TRUE(destroyed);
      EXPECT_TRUE(engine_.containers.empty());
    });
  }
  void expect_refusal(ErrorCode code, const std::string& words) { expect_refusal(spec(), code, words); }
  void expect_refusal(const SandboxSpec& wanted, ErrorCode code, const std::string& words) {
    run([this, wanted, code, words]() -> Task<> {
      auto made = backend();
      auto copy = wanted;
      auto enclosure = co_await made->create(std::move(copy), soon());
      EXPECT_FALSE(enclosure);
      if (enclosure) co_return;
      EXPECT_EQ(enclosure.error().code, code) << enclosure.error().message;
      EXPECT_NE(enclosure.error().message.find(words), std::string::npos) << enclosure.error().message;
      EXPECT_TRUE(engine_.containers.empty());
    });
  }
};

TEST_F(DockerBackend, Sandbox_SpeaksBothWaysAndIsGoneAfterDestroy) {
  run([this]() -> Task<> {
    auto made = backend();
    auto wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    if (!enclosure) co_return;
    EXPECT_EQ(engine_.containers.size(), 1u);
    EXPECT_EQ(engine_.containers.begin()->second.state, "running");
    EXPECT_EQ((*enclosure)->runtime(), "runc");
    Channel& channel = (*enclosure)->channel();
    auto written = co_await channel.write_all("hello");
    EXPECT_TRUE(written);
    const std::string heard = co_await read_all(channel, 5);
    EXPECT_EQ(heard, "hello");
    for (int i = 0; i < 2; ++i) {
      auto destroyed = co_await (*enclosure)->destroy(soon());
      EXPECT_TRUE(destroyed) << destroyed.error().message;
    }
    EXPECT_TRUE(engine_.containers.empty());
  });
}

TEST_F(DockerBackend, EndBetweenPieces_ReadsAsTheAgentsEnd) {
  engine_.on_attach([](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send(frame(2, "complaint\n") + frame(1, "bye"));
    peer.hang_up();
  });
  expect_reading("bye|end");
}

TEST_F(DockerBackend, EndInTheMiddleOfAPiece_IsAnError) {
  engine_.on_attach([](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send(frame(1, "whole") + frame(1, "half of it").substr(0, 12));
    peer.hang_up();
  });
  expect_reading("error unavailable");
}

TEST_F(DockerBackend, NonsenseInTheStream_IsAnError) {
  engine_.on_attach([](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 500 oh no\r\n\r\n");
    co_await peer.receive();
    peer.hang_up();
  });
  expect_reading("error protocol");
}

TEST_F(DockerBackend, ClosedChannel_EndsAReadThatWouldNeverEnd) {
  run([this]() -> Task<> {
    auto made = backend();
    auto wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure);
    if (!enclosure) co_return;
    TaskGroup tasks(io_.get_executor());
    std::string heard;
    tasks.spawn("read", [&]() -> Task<> { heard = co_await read_all((*enclosure)->channel(), 1); });
    co_await pause_for(1ms);
    (*enclosure)->channel().close();
    co_await tasks.join();
    EXPECT_EQ(heard, "error cancelled");
    auto destroyed = co_await (*enclosure)->destroy(soon());
    EXPECT_TRUE(destroyed);
  });
}

TEST_F(DockerBackend, WarningOfALostLimit_RefusesAndRemoves) {
  engine_.warnings = R"(["Your kernel does not support swap limit capabilities. Memory limited without swap."])";
  expect_refusal(ErrorCode::unsupported, "swap limit");
  EXPECT_GE(engine_.removals, 1);
}

TEST_F(DockerBackend, EngineWithoutALimit_RefusesBeforeAnythingIsMade) {
  engine_.server().on("GET /v1.41/info", 200, R"({"OSType":"linux","DefaultRuntime":"runc","Runtimes":{"runc":{}}})");
  expect_refusal(ErrorCode::unsupported, "memory limit");
  EXPECT_EQ(engine_.server().count("POST"), 0u);
}

TEST_F(DockerBackend, AbsentRuntime_RefusesWithWhatThereIs) {
  SandboxSpec wanted = spec();
  wanted.runtime = "runsc";
  expect_refusal(wanted, ErrorCode::unsupported, "it has runc, crun");
}

TEST_F(DockerBackend, UnknownImage_IsNotFoundByName) {
  SandboxSpec wanted = spec();
  wanted.image = "nosuch/image:v9";
  expect_refusal(wanted, ErrorCode::not_found, "nosuch/image:v9");
}

TEST_F(DockerBackend, BadSpecs_AreRefusedWithoutACall) {
  SandboxSpec root = spec();
  root.uid = 0;
  SandboxSpec reserved = spec();
  reserved.labels["cloche.instance"] = "other";
  run([this, root, reserved]() -> Task<> {
    auto made = backend();
    for (SandboxSpec wanted : {root, reserved}) {
      auto enclosure = co_await made->create(std::move(wanted), soon());
      EXPECT_FALSE(enclosure);
      if (!enclosure) {
        EXPECT_EQ(enclosure.error().code, ErrorCode::invalid_argument);
      }
    }
    EXPECT_TRUE(engine_.server().requests().empty());
  });
}

TEST_F(DockerBackend, NoImage_IsRefusedWithAdvice) {
  SandboxSpec wanted = spec();
  wanted.image = "";
  expect_refusal(wanted, ErrorCode::invalid_argument, "requires an image");
}

TEST_F(DockerBackend, StartThatFails_LeavesNoContainer) {
  engine_.server().on("POST /v1.41/containers/0", [](ReceivedRequest request, Peer& peer) -> Task<> {
    if (request.target.ends_with("/start")) {
      co_await peer.reply(500, R"({"message":"OCI runtime create failed: exec format error"})");
      co_return;
    }
    co_await peer.send("HTTP/1.1 101 UPGRADED\r\n\r\n");
    co_await peer.receive();
  });
  expect_refusal(ErrorCode::unavailable, "exec format error");
}

// Each step that an engine takes to make a sandbox, struck.
TEST_F(DockerBackend, EngineInTrouble_IsUnavailableWhateverItSays) {
  struct Strike {
    const char* path;
    unsigned status;
    const char* body;
  };
  constexpr const char* words = R"({"message":"oh no"})";
  const Strike strikes[] = {{"GET /v1.41/info", 500, words},
                            {"GET /v1.41/info", 200, "garbage"},
                            {"GET /v1.41/info", 400, words},
                            {"GET /v1.41/images/", 500, words},
                            {"GET /v1.41/images/", 400, words},
                            {"GET /v1.41/images/", 200, "{\"Id\":"},
                            {"GET /v1.41/images/", 200, "{}"},
                            {"POST /v1.41/containers/create", 500, words},
                            {"POST /v1.41/containers/create", 403, words},
                            {"POST /v1.41/containers/create", 201, "{}"},
                            {"PUT /v1.41/containers/0", 404, words},
                            {"PUT /v1.41/containers/0", 409, words},
                            {"POST /v1.41/commit", 404, words},
                            {"POST /v1.41/commit", 201, "half"},
                            {"POST /v1.41/containers/0", 400, words},
                            {"POST /v1.41/containers/0", 404, words},
                            {"POST /v1.41/containers/0", 409, words},
                            {"POST /v1.41/containers/0", 500, words}};
  run([this, &strikes]() -> Task<> {
    for (const Strike& strike : strikes) {
      FakeEngine struck(io_.get_executor());
      struck.server().on(strike.path, strike.status, strike.body);
      auto made = create_docker_backend(io_.get_executor(), pool_, struck.options()).value();
      auto wanted = spec();
      auto enclosure = co_await made->create(std::move(wanted), soon());
      EXPECT_FALSE(enclosure) << strike.path;
      if (!enclosure) {
        EXPECT_EQ(enclosure.error().code, ErrorCode::unavailable)
            << strike.path << " " << strike.status << ": " << enclosure.error().message;
      }
      while (!struck.containers.empty()) co_await pause_for(1ms);
      made.reset();
      co_await struck.server().stop();
    }
  });
}

TEST_F(DockerBackend, StartOfAContainerThatWasStruck_IsUnavailable) {
  engine_.server().on("POST /v1.41/containers/0", [](ReceivedRequest request, Peer& peer) -> Task<> {
    if (request.target.ends_with("/start")) {
      co_await peer.reply(400, R"({"message":"cannot start a stopped process"})");
      co_return;
    }
    co_await peer.send("HTTP/1.1 101 UPGRADED\r\n\r\n");
    co_await peer.receive();
  });
  expect_refusal(ErrorCode::unavailable, "stopped process");
}

TEST_F(DockerBackend, ConfigurationThatTheEngineRefuses_IsSaidAsSuch) {
  run([this]() -> Task<> {
    auto made = backend();
    auto first = spec();
    auto enclosure = co_await made->create(std::move(first), soon());  // the image is derived now
    EXPECT_TRUE(enclosure);
    if (enclosure) co_await (*enclosure)->destroy(soon());
    engine_.server().on("POST /v1.41/containers/create", 400, R"({"message":"invalid mount config"})");
    auto wanted = spec();
    auto second = co_await made->create(std::move(wanted), soon());
    EXPECT_FALSE(second);
    if (second) co_return;
    EXPECT_EQ(second.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(second.error().message.find("invalid mount config"), std::string::npos) << second.error().message;
  });
}

TEST_F(DockerBackend, LimitsOfASandboxThatIsGone_AreLostWithIt) {
  run([this]() -> Task<> {
    auto made = backend();
    auto wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure);
    if (!enclosure) co_return;
    const std::pair<int, ErrorCode> answers[] = {{404, ErrorCode::sandbox_lost},
                                                 {409, ErrorCode::sandbox_lost},
                                                 {500, ErrorCode::unavailable},
                                                 {400, ErrorCode::invalid_argument}};
    Limits limits = (*enclosure)->spec().limits;
    limits.memory = mib(64);
    for (const auto& [status, code] : answers) {
      engine_.server().on("POST /v1.41/containers/0", status, R"({"message":"oh no"})");
      auto set = co_await (*enclosure)->set_limits(limits);
      EXPECT_FALSE(set);
      if (!set) {
        EXPECT_EQ(set.error().code, code) << set.error().message;
      }
    }
    co_await (*enclosure)->destroy(soon());
  });
}

TEST_F(DockerBackend, NameInUse_LeavesTheOthersContainerAlone) {
  run([this]() -> Task<> {
    FakeEngine::Container other;
    other.name = "mine";
    engine_.containers["0f"] = other;
    auto made = backend();
    auto first = spec();
    auto enclosure = co_await made->create(std::move(first), soon());
    EXPECT_TRUE(enclosure);
    engine_.server().on("POST /v1.41/containers/create", 409,
                        R"({"message":"The container name \"/mine\" is already in use"})");
    auto wanted = spec();
    wanted.name = "mine";
    auto second = co_await made->create(std::move(wanted), soon());
    EXPECT_FALSE(second);
    if (!second) {
      EXPECT_EQ(second.error().code, ErrorCode::already_exists);
    }
    EXPECT_TRUE(engine_.containers.contains("0f"));
    if (enclosure) co_await (*enclosure)->destroy(soon());
  });
}

// Makes the engine create sandboxes' containers only after `delay`, and never say so.
void create_late(FakeEngine& engine, TaskGroup& tasks, std::chrono::milliseconds delay) {
  engine.server().on(
      "POST /v1.41/containers/create", [&engine, &tasks, delay](ReceivedRequest request, Peer& peer) -> Task<> {
        const auto body = json::parse(request.body).value();
        tasks.spawn("late", [&engine, body, delay]() -> Task<> {
          co_await pause_for(delay);
          engine.containers[std::string(64, '0')] = FakeEngine::Container{"late", "created", body.as_object()};
        });
        peer.hang_up();
        co_return;
      });
}

TEST_F(DockerBackend, ContainerThatTurnsUpAfterALostAnswer_IsRemoved) {
  run([this]() -> Task<> {
    TaskGroup tasks(io_.get_executor());
    auto made = backend();
    auto first = spec();
    auto enclosure = co_await made->create(std::move(first), soon());  // the image is derived now
    EXPECT_TRUE(enclosure);
    if (enclosure) co_await (*enclosure)->destroy(soon());
    create_late(engine_, tasks, 100ms);
    auto wanted = spec();
    auto lost = co_await made->create(std::move(wanted), soon());
    EXPECT_FALSE(lost);
    if (!lost) {
      EXPECT_EQ(lost.error().code, ErrorCode::unavailable);
    }
    co_await tasks.join();
    while (!engine_.containers.empty()) co_await pause_for(1ms);
  });
}

TEST_F(DockerBackend, CancelledCreation_IsTakenBack) {
  run([this]() -> Task<> {
    auto made = backend();
    bool is_starting = false;
    engine_.server().on("POST /v1.41/containers/0", [&is_starting](ReceivedRequest request, Peer& peer) -> Task<> {
      if (request.target.ends_with("/start")) {
        is_starting = true;
      } else {
        co_await peer.send("HTTP/1.1 101 UPGRADED\r\n\r\n");
      }
      co_await peer.receive();
      peer.hang_up();
    });
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("create", [&]() -> Task<> {
      auto wanted = spec();
      auto enclosure = co_await made->create(std::move(wanted), soon());
      ADD_FAILURE() << "was not cancelled";
    });
    while (!is_starting) co_await pause_for(1ms);
    EXPECT_EQ(engine_.containers.size(), 1u);
    co_await tasks.shut_down();
    while (!engine_.containers.empty()) co_await pause_for(1ms);
  });
}

TEST_F(DockerBackend, HungEngine_FailsAtTheDeadline) {
  engine_.server().on("GET /v1.41/info", [](ReceivedRequest, Peer& peer) -> Task<> { co_await peer.receive(); });
  run([this]() -> Task<> {
    auto made = backend();
    auto wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), Deadline::after(50ms));
    EXPECT_FALSE(enclosure);
    if (!enclosure) {
      EXPECT_EQ(enclosure.error().code, ErrorCode::timeout);
    }
  });
}

TEST_F(DockerBackend, DerivingThatFails_LeavesNoContainerAndNoTag) {
  engine_.server().on("PUT /v1.41/containers/0", 500, R"({"message":"no space left on device"})");
  expect_refusal(ErrorCode::unavailable, "no space left");
  EXPECT_EQ(engine_.images.size(), 1u);
}

TEST_F(DockerBackend, LimitsThatAreNotTaken_AreRestored) {
  run([this]() -> Task<> {
    auto made = backend();
    auto wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure);
    if (!enclosure) co_return;
    std::vector<std::int64_t> asked;
    engine_.server().on("POST /v1.41/containers/0", [&asked](ReceivedRequest request, Peer& peer) -> Task<> {
      const auto body = json::parse(request.body).value();
      asked.push_back(json::number(json::find(body, "Memory")));
      const bool first = asked.size() == 1;
      co_await peer.reply(first ? 500 : 200,
                          first ? R"({"message":"device or resource busy"})" : R"({"Warnings":null})");
    });
    Limits smaller = (*enclosure)->spec().limits;
    auto unchanged = co_await (*enclosure)->set_limits(smaller);
    EXPECT_TRUE(unchanged);
    EXPECT_TRUE(asked.empty());
    smaller.memory = mib(16);
    auto refused = co_await (*enclosure)->set_limits(smaller);
    EXPECT_FALSE(refused);
    EXPECT_EQ(asked, (std::vector<std::int64_t>{16 << 20, 128 << 20}));
    EXPECT_EQ((*enclosure)->spec().limits.memory, mib(128));
    auto taken = co_await (*enclosure)->set_limits(smaller);
    EXPECT_TRUE(taken);
    EXPECT_EQ((*enclosure)->spec().limits.memory, mib(16));
    co_await (*enclosure)->destroy(soon());
  });
}

TEST_F(DockerBackend, Examine_SaysGoodThingsOrWhatIsMissing) {
  run([this]() -> Task<> {
    auto made = backend();
    auto findings = co_await made->examine(soon());
    EXPECT_EQ(findings.at(0).level, Finding::Level::good);
    DockerOptions options = engine_.options();
    options.host = "unix:///nonexistent/docker.sock";
    auto absent = create_docker_backend(io_.get_executor(), pool_, options).value();
    findings = co_await absent->examine(soon());
    EXPECT_EQ(findings.at(0).level, Finding::Level::missing);
    EXPECT_FALSE(findings.at(0).advice.empty());
  });
}

}  // namespace
}  // namespace cloche::docker
