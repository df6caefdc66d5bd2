// Bodies that cost something: large ones, endless ones, wrong ones, many at a time.
#include <time.h>

#include <boost/asio/thread_pool.hpp>

#include "core/async/task_group.hpp"
#include "http/server/request/json_body.hpp"
#include "http/server/testing/served.hpp"

namespace cloche::http {
namespace {

using namespace std::chrono_literals;
using testing::RawClient;
using testing::Served;

constexpr ShapeMember members[] = {{"code", &shapes::text}, {"files", &shapes::text_map}};
constexpr Shape shape = shapes::object_of(members);

std::chrono::nanoseconds processor_time_of_thread() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// The most that the loop's thread worked between two turns of a timer. In the processor's time, because a busy machine
// may let a thread wait.
Task<> watch_work_in_a_row(std::chrono::nanoseconds& most) {
  for (auto last = processor_time_of_thread();;) {
    co_await pause_for(2ms);
    const auto now = processor_time_of_thread();
    most = std::max(most, now - last);
    last = now;
  }
}

class Bodies : public Served {
 protected:
  Bodies() {
    options_.workers = &workers_;
    options_.tenant_bodies.most = mib(8);
    options_.limits.body_window = 5s;
    options_.limits.linger = 100ms;
    handler_ = [this](Exchange& exchange) -> Task<> {
      exchange.charge_to(std::string(exchange.field("Tenant")));
      const JsonLimits limits{.size = mib(64), .depth = 16, .values = 5000, .shape = &shape};
      auto read = [](const boost::json::value& value) { return Result<std::size_t>(json_size_of_code(value)); };
      auto body = co_await read_json_as<std::size_t>(exchange, limits, read);
      if (!body) {
        if (exchange.body_failed()) co_return;
        std::string why = body.error().message;
        co_await exchange.refuse(400, std::move(why));
        co_return;
      }
      while (keep_them_) co_await changed_.wait();
      Fields fields;
      std::string size = std::to_string(*body);
      co_await exchange.respond(200, std::move(fields), std::move(size));
    };
  }
  ~Bodies() override { workers_.join(); }

  static std::size_t json_size_of_code(const boost::json::value& value) {
    const auto* code = value.as_object().if_contains("code");
    return code == nullptr ? 0 : code->as_string().size();
  }

  static std::string head(const std::string& framing, const std::string& tenant = "a") {
    return "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTenant: " + tenant + "\r\n" + framing +
           "\r\n\r\n";
  }
  static std::string length(std::size_t size) { return "Content-Length: " + std::to_string(size); }
  static std::string whole(const std::string& body, const std::string& tenant = "a") {
    return head(length(body.size()), tenant) + body;
  }
  static std::string code_of(std::size_t size) { return R"({"code": ")" + std::string(size, 'x') + R"("})"; }
  static constexpr const char* chunked = "Transfer-Encoding: chunked";

  asio::thread_pool workers_{1};
  bool keep_them_ = false;
};

TEST_F(Bodies, LargeBody_IsReadWhole_AndHoldsUpNobody) {
  options_.limits.body_budget = mib(64);
  handler_ = [](Exchange& exchange) -> Task<> {
    const JsonLimits limits{.size = mib(64), .shape = &shape};
    auto read = [](const boost::json::value& value) { return Result<std::size_t>(json_size_of_code(value)); };
    auto body = co_await read_json_as<std::size_t>(exchange, limits, read);
    EXPECT_TRUE(body);
    Fields fields;
    std::string size = std::to_string(body ? *body : 0);
    co_await exchange.respond(200, std::move(fields), std::move(size));
  };
  run([&]() -> Task<> {
    std::chrono::nanoseconds most{};
    TaskGroup watch(io_.get_executor());
    std::string request = whole(code_of(48 << 20));
    watch.spawn("work", [&most] { return watch_work_in_a_row(most); });
    const Response answer = co_await ask(std::move(request));
    EXPECT_EQ(answer.body, std::to_string(48 << 20));
    co_await watch.shut_down();
    EXPECT_LT(most, 150ms) << "a tree of it on this thread took hundreds";
  });
}

TEST_F(Bodies, WrongValue_IsAnsweredBeforeTheBodyIsThere) {
  run([&]() -> Task<> {
    for (const char* wrong :
         {R"({"code": [0,0,)", R"({"code": {"a":)", R"({"files": {"a": [)", R"([)", R"({"code": 1,)"}) {
      for (const std::string& framing : {length(6 << 20), std::string(chunked)}) {
        auto client = co_await connect();
        std::string request = head(framing);
        if (framing == chunked) request += "3c00000\r\n";
        request += wrong;
        co_await client->send(std::move(request));
        const Response answer = co_await client->answer();
        EXPECT_EQ(answer.status, 400u) << wrong;
        if (framing != chunked) {
          EXPECT_EQ(answer.field("Connection"), "close");
        }
      }
    }
  });
  EXPECT_EQ(server_->counts().body_bytes_held, 0u);
}

TEST_F(Bodies, TooManyValues_Are413) {
  std::string many = R"({"other": [0)";
  for (int i = 0; i < 6000; ++i) many += ",0";
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(head(length(6 << 20)) + many);
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.status, 413u);
  });
}

TEST_F(Bodies, LengthBeyondTheTenantsPart_Is429BeforeAnythingIsRead) {
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(head(length(9 << 20)));
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.status, 429u);
    EXPECT_EQ(answer.field("Retry-After"), "1");
  });
}

TEST_F(Bodies, ChunksBeyondTheTenantsPart_Are429OnceTheyPassIt) {
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(head(chunked) + "3c00000\r\n{\"code\": \"");
    const std::string piece(64 << 10, 'x');
    // More than fits is not taken, so the rest of what is sent may meet a closed connection.
    for (int i = 0; i < 140; ++i) co_await client->send(piece);
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.status, 429u);
  });
  EXPECT_EQ(server_->counts().body_bytes_held, 0u);
}

TEST_F(Bodies, ServerWithoutBudget_Gives503_AndServesSmallOnes) {
  options_.limits.body_budget = mib(4);
  keep_them_ = true;
  run([&]() -> Task<> {
    auto holder = co_await connect();
    co_await holder->send(whole(code_of(3 << 20), "a"));
    while (server_->counts().body_bytes_held == 0) co_await pause_for(1ms);
    auto refused = co_await connect();
    co_await refused->send(head(length(3 << 20), "b"));
    const Response no = co_await refused->answer();
    EXPECT_EQ(no.status, 503u);
    EXPECT_EQ(no.field("Retry-After"), "1");
    auto small = co_await connect();
    co_await small->send(whole(code_of(1000), "b"));
    keep_them_ = false;
    changed_.notify();
    const Response yes = co_await small->answer();
    EXPECT_EQ(yes.status, 200u);
    const Response held = co_await holder->answer();
    EXPECT_EQ(held.body, std::to_string(3 << 20));
  });
  EXPECT_EQ(server_->counts().bodies_refused, 1u);
  EXPECT_EQ(server_->counts().body_bytes_held, 0u);
}

TEST_F(Bodies, ClientThatGoesAway_GivesItsBudgetBack) {
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(head(length(6 << 20)) + R"({"code": ")" + std::string(100 << 10, 'x'));
    while (server_->counts().body_bytes_held == 0) co_await pause_for(1ms);
    client->reset();
    while (server_->counts().body_bytes_held > 0) co_await pause_for(1ms);
    const Response next = co_await ask(whole(code_of(6 << 20)));
    EXPECT_EQ(next.status, 200u);
  });
}

TEST_F(Bodies, WhatCameFast_EarnsNoPatience) {
  options_.limits.body_window = 200ms;
  options_.limits.body_rate = kib(1);
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(head(length(6 << 20)) + R"({"code": ")" + std::string(2 << 20, 'x'));
    const auto before = Deadline::Clock::now();
    for (int i = 0; i < 40; ++i) {
      co_await pause_for(20ms);
      co_await client->send("x");
      if (server_->counts().body_bytes_held == 0) break;
    }
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.status, 408u);
    EXPECT_LT(Deadline::Clock::now() - before, 60s);
  });
}

TEST_F(Bodies, SlowBodyThatHoldsWhatOthersNeed_IsEndedSooner) {
  options_.limits.body_window = 60s;
  options_.limits.pressed_window = 100ms;
  run([&]() -> Task<> {
    auto slow = co_await connect();
    co_await slow->send(head(length(6 << 20)) + R"({"code": ")");
    while (server_->counts().body_bytes_held == 0) co_await pause_for(1ms);
    const std::string request = whole(code_of(6 << 20));
    const Response refused = co_await ask(request);
    EXPECT_EQ(refused.status, 429u);
    const Response ended = co_await slow->answer();
    EXPECT_EQ(ended.status, 408u);
    const Response served = co_await ask(request);
    EXPECT_EQ(served.status, 200u);
  });
}

TEST_F(Bodies, ConnectionsThatSayNothing_GiveWayToNewOnes) {
  options_.limits.connections = 4;
  run([&]() -> Task<> {
    std::vector<std::unique_ptr<RawClient>> silent;
    for (int i = 0; i < 4; ++i) {
      auto client = co_await connect();
      silent.push_back(std::move(client));
    }
    while (server_->counts().open_connections < 4) co_await pause_for(1ms);
    const std::string small = whole(code_of(10));
    for (int i = 0; i < 8; ++i) {
      const Response answer = co_await ask(small);
      EXPECT_EQ(answer.status, 200u);
    }
    const bool oldest_ended = co_await silent.front()->ends();
    EXPECT_TRUE(oldest_ended);
  });
  EXPECT_EQ(server_->counts().refused_connections, 0u);
}

}  // namespace
}  // namespace cloche::http
