#include "backend/kubernetes/exec_channel.hpp"

#include "backend/kubernetes/testing/over_fake_cluster.hpp"

namespace cloche::kubernetes {
namespace {

using namespace std::string_literals;
using http::testing::Peer;
using http::testing::ReceivedRequest;

class ExecChannelTest : public testing::OverFakeCluster {
 protected:
  Task<std::unique_ptr<Channel>> open() {
    std::vector<std::string> argv{"/agent", "dial it"};
    auto opened = co_await api()->exec("p", "sandbox", std::move(argv), soon());
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) co_return nullptr;
    co_return std::make_unique<ExecChannel>(std::move(*opened), "s");
  }
  // A program whose stream is these frames, and the end of the connection.
  void stream(std::string frames) {
    cluster_.server().on("GET /api/v1/namespaces/sandboxes/pods/p/exec",
                         [frames](ReceivedRequest request, Peer& peer) -> Task<> {
                           const auto at = request.head.find("Sec-WebSocket-Key: ") + 19;
                           std::string head =
                               "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                               "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\nSec-WebSocket-Accept: " +
                               http::websocket_accept(request.head.substr(at, 24)) + "\r\n\r\n" + frames;
                           co_await peer.send(std::move(head));
                           peer.hang_up();
                         });
  }
};

TEST_F(ExecChannelTest, Bytes_GoBothWays_InSmallPieces) {
  run([this]() -> Task<> {
    json::object pod;
    pod["metadata"] = json::object{{"name", "p"}};
    cluster_.put(std::move(pod));
    auto channel = co_await open();
    if (!channel) co_return;
    const std::string sent(200'000, 'x');
    auto written = co_await channel->write_all(sent);
    EXPECT_TRUE(written);
    std::string received;
    std::string room(70'000, '\0');
    while (received.size() < sent.size()) {
      auto count = co_await channel->read_some(room);
      EXPECT_TRUE(count && *count > 0);
      if (!count || *count == 0) co_return;
      received += room.substr(0, *count);
    }
    EXPECT_EQ(received, sent);
    EXPECT_EQ(cluster_.server().count("GET /api/v1/namespaces/sandboxes/pods/p/exec?container=sandbox&stdin=true&"
                                      "stdout=true&stderr=true&tty=false&command=%2Fagent&command=dial%20it"),
              1U);
    channel->close();
  });
}

TEST_F(ExecChannelTest, SuccessAndEnds_AreTheEndOfTheStreamOnly) {
  const std::string cases[] = {
      "\x82\x03\x01hi\x82\x01\x03\x82\x15\x03{\"status\":\"Success\"}"s,  // the status
      "\x82\x03\x01hi\x82\x02\xff\x01"s,                                  // the end of stdout
      "\x82\x03\x01hi\x88\x02\x03\xe8"s,                                  // a close
  };
  run([&]() -> Task<> {
    for (const std::string& frames : cases) {
      stream(frames);
      auto channel = co_await open();
      if (!channel) co_return;
      std::string room(100, '\0');
      auto count = co_await channel->read_some(room);
      EXPECT_TRUE(count && *count == 2 && room.starts_with("hi"));
      auto end = co_await channel->read_some(room);
      EXPECT_TRUE(end && *end == 0);
      auto again = co_await channel->read_some(room);
      EXPECT_TRUE(again && *again == 0);
    }
  });
}

TEST_F(ExecChannelTest, FailureAndNonsense_AreErrors) {
  const std::string cases[] = {
      "\x82\x31\x03{\"status\":\"Failure\",\"code\":500,\"message\":\"none\"}"s,
      "\x82\x02\x07x"s,
      "\x82\x05\x01"s,
  };
  run([&]() -> Task<> {
    for (const std::string& frames : cases) {
      stream(frames);
      auto channel = co_await open();
      if (!channel) co_return;
      std::string room(100, '\0');
      auto count = co_await channel->read_some(room);
      EXPECT_FALSE(count);
    }
  });
}

}  // namespace
}  // namespace cloche::kubernetes
