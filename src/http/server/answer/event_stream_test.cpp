#include "http/server/answer/event_stream.hpp"

#include "http/server/testing/served.hpp"

namespace cloche::http {
namespace {

using namespace std::chrono_literals;
using testing::Served;

const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

class Events : public Served {};

TEST_F(Events, SentEvents_ArriveAndTheConnectionGoesOn) {
  handler_ = [](Exchange& exchange) -> Task<> {
    co_await serve_events(exchange, [](EventStream& events) -> Task<Status> {
      for (int i = 1; i <= 3; ++i) {
        ServerEvent event;
        event.id = std::to_string(i);
        event.data = "line\nother";
        CLOCHE_CO_CHECK(co_await events.send(event));
      }
      co_return Status{};
    });
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    for (int i = 0; i < 2; ++i) {
      co_await client->send(get);
      const Response answer = co_await client->answer();
      EXPECT_EQ(answer.field("Content-Type"), "text/event-stream");
      EXPECT_EQ(
          answer.body,
          "id: 1\ndata: line\ndata: other\n\nid: 2\ndata: line\ndata: other\n\nid: 3\ndata: line\ndata: other\n\n");
    }
  });
}

TEST_F(Events, Silence_IsFilledWithHeartbeats) {
  bool enough = false;
  handler_ = [&](Exchange& exchange) -> Task<> {
    auto body = [&](EventStream& events) -> Task<Status> {
      while (!enough) co_await changed_.wait();
      ServerEvent event;
      event.data = "last";
      co_return co_await events.send(event);
    };
    co_await serve_events(exchange, body, 5ms);
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get);
    std::string all;
    while (all.find(":\n\n") == all.rfind(":\n\n")) all += co_await client->receive();
    enough = true;
    changed_.notify();
    while (all.find("data: last\n\n") == std::string::npos) all += co_await client->receive();
    co_await client->send(get);
  });
}

TEST_F(Events, BodyThatThrows_CutsTheStream) {
  handler_ = [](Exchange& exchange) -> Task<> {
    co_await serve_events(exchange, [](EventStream&) -> Task<Status> {
      throw std::runtime_error("on purpose");
      co_return Status{};
    });
  };
  run([&]() -> Task<> {
    const Response answer = co_await ask(get);
    EXPECT_EQ(answer.status, 0u);
  });
}

TEST_F(Events, ClientThatGoes_EndsTheBody) {
  bool begun = false;
  bool ended = false;
  handler_ = [&](Exchange& exchange) -> Task<> {
    co_await serve_events(exchange, [&](EventStream&) -> Task<Status> {
      struct Mark {
        ~Mark() {
          flag = true;
          event.notify();
        }
        bool& flag;
        Event& event;
      } const mark{ended, changed_};
      begun = true;
      changed_.notify();
      Event never(co_await asio::this_coro::executor);
      co_await never.wait();
      co_return Status{};
    });
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get);
    while (!begun) co_await changed_.wait();
    client->close();
    while (!ended) co_await changed_.wait();
  });
}

}  // namespace
}  // namespace cloche::http
