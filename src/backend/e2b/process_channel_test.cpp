// A channel over the stdin and stdout of a program, and streams that break.
#include "backend/e2b/process_channel.hpp"

#include "backend/e2b/testing/backend_over_fake_service.hpp"
#include "connect/envelope.hpp"

namespace cloche::e2b {
namespace {

using http::testing::Peer;
using http::testing::ReceivedRequest;
using testing::chunk;
using testing::event;
using testing::stream_head;

class E2bProcessChannel : public testing::OverFakeService {
 protected:
  Task<Result<std::unique_ptr<ProcessChannel>>> open() {
    service_.sandboxes["i1"];
    RemoteSandbox sandbox;
    sandbox.id = "i1";
    sandbox.access_token = "token-of-sandbox";
    auto plane = std::make_shared<DataPlane>(io_.get_executor(), sandbox_address(service_.settings(), "i1", "").value(),
                                             sandbox);
    Command command;
    command.argv = {"agent", "dial"};
    command.has_stdin = true;
    CLOCHE_CO_TRY(DataPlane::Started started, co_await plane->start(std::move(command), soon()));
    co_return std::make_unique<ProcessChannel>(io_.get_executor(), plane, std::move(started), "sb1");
  }
  // Answers a start with these bytes, and closes the connection.
  void answer_start(std::string bytes) {
    service_.server().on("POST /process.Process/Start", [bytes](ReceivedRequest, Peer& peer) -> Task<> {
      std::string copy = bytes;
      co_await peer.send(std::move(copy));
      peer.hang_up();
    });
  }
  static Task<std::string> read_all(Channel& channel, std::size_t count) {
    std::string all;
    while (all.size() < count) {
      char room[1000];
      auto read = co_await channel.read_some(room);
      if (!read) co_return all + "|" + std::string(to_string(read.error().code));
      if (*read == 0) co_return all + "|end";
      all.append(room, *read);
    }
    co_return all;
  }
  static std::string started() { return chunk(event(R"({"start":{"pid":7}})")); }
  static std::string said() { return chunk(event(R"({"data":{"stdout":"aGk="}})")); }
};

TEST_F(E2bProcessChannel, Bytes_GoBothWaysInPieces) {
  run([this]() -> Task<> {
    auto channel = co_await open();
    EXPECT_TRUE(channel) << channel.error().message;
    if (!channel) co_return;
    std::string bytes(800'000, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
    auto written = co_await (*channel)->write_all(bytes);
    EXPECT_TRUE(written) << written.error().message;
    EXPECT_EQ(service_.server().count("POST /process.Process/SendInput"), 4U);
    const std::string heard = co_await read_all(**channel, bytes.size());
    EXPECT_EQ(heard, bytes);
    (*channel)->close();
    auto late = co_await (*channel)->write_all("x");
    EXPECT_FALSE(late);
  });
}

TEST_F(E2bProcessChannel, StreamThatBreaksOff_IsUnavailableAfterWhatCame) {
  answer_start(stream_head() + started() + said());
  run([this]() -> Task<> {
    auto channel = co_await open();
    EXPECT_TRUE(channel) << channel.error().message;
    if (!channel) co_return;
    const std::string heard = co_await read_all(**channel, 100);
    EXPECT_EQ(heard, "hi|unavailable");
  });
}

TEST_F(E2bProcessChannel, StreamThatEndsInOrderWithoutTheProgram_IsUnavailable) {
  answer_start(stream_head() + started() + "0\r\n\r\n");
  run([this]() -> Task<> {
    auto channel = co_await open();
    EXPECT_TRUE(channel);
    if (!channel) co_return;
    const std::string heard = co_await read_all(**channel, 100);
    EXPECT_EQ(heard, "|unavailable");
  });
}

TEST_F(E2bProcessChannel, KeepAlivesAndStderr_AreNotData) {
  answer_start(stream_head() + started() + chunk(event(R"({"keepalive":{}})")) +
               chunk(event(R"({"data":{"stderr":"b29wcwo="}})")) + said() +
               chunk(event(R"({"end":{"exited":true,"status":"exit status 0"}})")) +
               chunk(connect::in_envelope(2, "{}")) + "0\r\n\r\n");
  run([this]() -> Task<> {
    auto channel = co_await open();
    EXPECT_TRUE(channel);
    if (!channel) co_return;
    const std::string heard = co_await read_all(**channel, 100);
    EXPECT_EQ(heard, "hi|end");
  });
}

TEST_F(E2bProcessChannel, LastMessageWithAnError_IsThatError) {
  answer_start(stream_head() +
               chunk(connect::in_envelope(2, R"({"error":{"code":"not_found","message":"no such file"}})")) +
               "0\r\n\r\n");
  run([this]() -> Task<> {
    auto channel = co_await open();
    EXPECT_TRUE(!channel && channel.error().code == ErrorCode::not_found);
  });
}

TEST_F(E2bProcessChannel, GarbageInTheStream_IsAnError) {
  const std::vector<std::string> streams{
      stream_head() + chunk("\x09garbage"),
      stream_head() + chunk(std::string("\x00\xff\xff\xff\xff", 5)),
      stream_head() + chunk(std::string("\x01\x00\x00\x00\x00", 5)),
      stream_head() + chunk(connect::in_envelope(0, "{")),
      stream_head() + said(),
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
      "HTTP/1.1 502 Bad\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
      "garbage\r\n\r\n",
  };
  run([this, streams]() -> Task<> {
    for (const std::string& stream : streams) {
      answer_start(stream);
      auto channel = co_await open();
      EXPECT_FALSE(channel) << stream;
    }
  });
}

TEST_F(E2bProcessChannel, ClosedChannel_EndsAPendingReadAndAPendingWrite) {
  service_.server().on("POST /process.Process/SendInput", [](ReceivedRequest, Peer&) -> Task<> { co_await never(); });
  run([this]() -> Task<> {
    auto channel = co_await open();
    EXPECT_TRUE(channel);
    if (!channel) co_return;
    TaskGroup tasks(io_.get_executor());
    int ended = 0;
    tasks.spawn("read", [&]() -> Task<> {
      char room[10];
      auto read = co_await (*channel)->read_some(room);
      EXPECT_FALSE(read);
      ++ended;
    });
    tasks.spawn("write", [&]() -> Task<> {
      auto written = co_await (*channel)->write_all("x");
      EXPECT_FALSE(written);
      ++ended;
    });
    while (service_.server().count("POST /process.Process/SendInput") == 0)
      co_await pause_for(std::chrono::milliseconds(1));
    (*channel)->close();
    co_await tasks.join();
    EXPECT_EQ(ended, 2);
  });
}

}  // namespace
}  // namespace cloche::e2b
