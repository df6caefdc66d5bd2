// Clients that take their time, or are gone.
#include "core/async/shielded.hpp"
#include "http/server/testing/served.hpp"

namespace cloche::http {
namespace {

using namespace std::chrono_literals;
using testing::Served;

const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

class SlowClient : public Served {
 protected:
  SlowClient() {
    options_.limits.head_time = 80ms;
    options_.limits.idle = 80ms;
    options_.limits.body_window = 80ms;
    options_.limits.write_stall = 80ms;
    options_.limits.linger = 80ms;
  }
};

TEST_F(SlowClient, HeadByDrops_Gets408) {
  run([&]() -> Task<> {
    auto client = co_await connect();
    for (const char c : get.substr(0, 12)) {
      co_await client->send(std::string(1, c));
      co_await pause_for(10ms);
    }
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.status, 408u);
    const bool ends = co_await client->ends();
    EXPECT_TRUE(ends);
  });
}

TEST_F(SlowClient, SilentConnection_IsClosedWithoutAWord) {
  run([&]() -> Task<> {
    auto fresh = co_await connect();
    const bool fresh_ends = co_await fresh->ends();
    EXPECT_TRUE(fresh_ends);
    auto idle = co_await connect();
    co_await idle->send(get);
    co_await idle->answer();
    const bool idle_ends = co_await idle->ends();
    EXPECT_TRUE(idle_ends);
  });
}

TEST_F(SlowClient, BodyThatStops_Gets408) {
  handler_ = [&](Exchange& exchange) -> Task<> {
    auto body = co_await exchange.read_body(kib(1));
    EXPECT_FALSE(body);
    if (!body) {
      EXPECT_EQ(body.error().code, ErrorCode::timeout);
    }
  };
  run([&]() -> Task<> {
    const Response answer = co_await ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    EXPECT_EQ(answer.status, 408u);
  });
}

TEST_F(SlowClient, BodyByDrops_IsCutByItsRate) {
  options_.limits.body_window = 100ms;
  options_.limits.body_rate = kib(1);
  handler_ = [&](Exchange& exchange) -> Task<> {
    auto body = co_await exchange.read_body(kib(1));
    EXPECT_FALSE(body);
  };
  run([&]() -> Task<> {
    for (const char* head : {"Content-Length: 1000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1;"}) {
      auto client = co_await connect();
      co_await client->send("POST / HTTP/1.1\r\nHost: h\r\n" + std::string(head));
      Response answer;
      for (int i = 0; i < 14; ++i) {
        co_await client->send("x");
        co_await pause_for(10ms);
      }
      answer = co_await client->answer();
      EXPECT_EQ(answer.status, 408u);
    }
  });
}

TEST_F(SlowClient, ReaderThatTakesNothing_IsCut) {
  bool ended = false;
  handler_ = [&](Exchange& exchange) -> Task<> {
    struct Mark {
      ~Mark() {
        flag = true;
        event.notify();
      }
      bool& flag;
      Event& event;
    } const mark{ended, changed_};
    Fields fields;
    co_await exchange.begin(200, std::move(fields));
    const std::string piece(64 << 10, 'x');
    for (Status written; written;) written = co_await exchange.write(piece);
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get);
    while (!ended) co_await changed_.wait();
    EXPECT_LT(server_->counts().bytes_out, mib(64).count);
  });
}

// A handler that waits for ever and says how it ended.
class GoneClient : public Served {
 protected:
  GoneClient() {
    handler_ = [this](Exchange& exchange) -> Task<> {
      if (outlives_) exchange.outlive_client();
      begun_ = true;
      changed_.notify();
      struct Ended {
        explicit Ended(GoneClient& t) : test(t) {}
        ~Ended() {
          test.ended_ = true;
          test.changed_.notify();
        }
        GoneClient& test;
      } const ended(*this);
      while (!let_go_) co_await changed_.wait();
      completed_ = true;
      Fields fields;
      co_await exchange.respond(200, std::move(fields), "done");
    };
    options_.access_log = [this](const AccessRecord& record) { logged_ = record.status; };
  }
  Task<> until(const bool& flag) {
    while (!flag) co_await changed_.wait();
  }

  bool outlives_ = false;
  bool begun_ = false;
  bool let_go_ = false;
  bool ended_ = false;
  bool completed_ = false;
  unsigned logged_ = 0;
};

TEST_F(GoneClient, HangUp_CancelsTheHandler) {
  run([&]() -> Task<> {
    for (const bool rude : {false, true}) {
      begun_ = ended_ = false;
      auto client = co_await connect();
      co_await client->send(get);
      co_await until(begun_);
      rude ? client->reset() : client->close();
      co_await until(ended_);
      EXPECT_FALSE(completed_);
    }
  });
  EXPECT_EQ(server_->counts().clients_gone, 2u);
  EXPECT_EQ(logged_, 499u);
}

TEST_F(GoneClient, HangUpBehindPipelinedBytes_IsNoticedToo) {
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get + get);
    co_await until(begun_);
    client->close();
    co_await until(ended_);
    EXPECT_FALSE(completed_);
  });
}

TEST_F(GoneClient, HandlerThatOutlivesItsClient_GoesOn) {
  outlives_ = true;
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get);
    co_await until(begun_);
    client->reset();
    co_await pause_for(20ms);
    EXPECT_FALSE(ended_);
    let_go_ = true;
    changed_.notify();
    co_await until(ended_);
    EXPECT_TRUE(completed_);
  });
}

TEST_F(GoneClient, PipelinedBytes_AreNotEatenByTheWatch) {
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get);
    co_await until(begun_);
    co_await client->send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    co_await pause_for(10ms);
    let_go_ = true;
    changed_.notify();
    const Response first = co_await client->answer();
    EXPECT_EQ(first.body, "done");
    const Response second = co_await client->answer();
    EXPECT_EQ(second.body, "done");
  });
}

TEST_F(GoneClient, HandlerAtWorkInAShield_IsJoinedAfterIt) {
  bool shield_done = false;
  handler_ = [&](Exchange&) -> Task<> {
    auto work = [&]() -> Task<> {
      begun_ = true;
      changed_.notify();
      while (!let_go_) co_await changed_.wait();
      shield_done = true;
    };
    co_await shielded(std::move(work));
    co_await pause_for(0ms);
    ADD_FAILURE() << "the cancellation got lost";
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get);
    co_await until(begun_);
    client->close();
    co_await pause_for(20ms);
    EXPECT_EQ(server_->counts().requests_in_flight, 1u);
    let_go_ = true;
    changed_.notify();
  });
  EXPECT_TRUE(shield_done);
}

}  // namespace
}  // namespace cloche::http
