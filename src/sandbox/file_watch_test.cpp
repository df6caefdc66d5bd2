#include "sandbox/file_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/testing/scripted_agent.hpp"
#include "support/result_matchers.hpp"
#include "wire/exec_messages.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing_support::FailsWith;
using Kind = WatchEvent::Kind;

std::string record(const WatchEvent& event) {
  std::string body;
  wire::Encoder encoder(body);
  fields(encoder, const_cast<WatchEvent&>(event));
  std::string bytes;
  wire::put_varint(bytes, body.size());
  return bytes + body;
}

class FileWatchTest : public AgentLinkTest {
 protected:
  // A watch whose agent says these bytes, each piece in a frame.
  void with_watch(std::vector<std::string> pieces, std::function<Task<>(FileWatch&)> body) {
    answer_hello();
    run([this, pieces, body]() -> Task<> {
      (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
      const std::string request = wire::encode(wire::ExecListRequest{});
      FileWatch watch(link_.open(request).value());
      for (const std::string& piece : pieces)
        channel().say({.type = wire::FrameType::data, .lane = wire::lane::out, .stream = 1, .payload = piece});
      co_await body(watch);
    });
  }

  void expect_protocol_error(const std::string& bytes) {
    with_watch({bytes}, [](FileWatch& watch) -> Task<> {
      const auto events = co_await watch.next(Deadline::after(60s));
      EXPECT_THAT(events, FailsWith(ErrorCode::protocol));
      const auto more = co_await watch.next(Deadline::after(60s));
      EXPECT_THAT(more, FailsWith(ErrorCode::protocol));
    });
  }
};

TEST_F(FileWatchTest, RecordsCutAnywhere_AreWholeEvents) {
  const std::string bytes = record({Kind::created, "a"}) + record({Kind::renamed, "d/b"});
  std::vector<std::string> pieces;
  for (const char c : bytes) pieces.emplace_back(1, c);
  with_watch(pieces, [](FileWatch& watch) -> Task<> {
    const auto first = co_await watch.next(Deadline::after(60s));
    const auto second = co_await watch.next(Deadline::after(60s));
    EXPECT_EQ(first.value().at(0).path, "a");
    EXPECT_EQ(second.value().at(0).kind, Kind::renamed);
    EXPECT_EQ(second.value().at(0).path, "d/b");
  });
}

TEST_F(FileWatchTest, ManyRecordsInAFrame_ComeTogetherInOrder) {
  const std::string bytes = record({Kind::created, "a"}) + record({Kind::overflow, ""});
  with_watch({bytes}, [](FileWatch& watch) -> Task<> {
    const auto events = co_await watch.next(Deadline::after(60s));
    EXPECT_EQ(events.value().size(), 2U);
    EXPECT_EQ(events.value().back().kind, Kind::overflow);
  });
}

TEST_F(FileWatchTest, Silence_IsATimeoutAfterWhichItGoesOn) {
  with_watch({}, [this](FileWatch& watch) -> Task<> {
    const auto none = co_await watch.next(Deadline::after(20ms));
    EXPECT_THAT(none, FailsWith(ErrorCode::timeout));
    const std::string late = record({Kind::written, "late"});
    channel().say({.type = wire::FrameType::data, .lane = wire::lane::out, .stream = 1, .payload = late});
    const auto events = co_await watch.next(Deadline::after(60s));
    EXPECT_EQ(events.value().at(0).path, "late");
  });
}

TEST_F(FileWatchTest, RemovedDirectory_EndsItWithNotFoundForGood) {
  with_watch({record({Kind::removed, "a"})}, [this](FileWatch& watch) -> Task<> {
    const wire::Closed closed{wire::CloseReason::not_found, "the directory was removed"};
    const std::string payload = wire::encode(closed);
    channel().say({.type = wire::FrameType::close, .stream = 1, .payload = payload});
    const auto events = co_await watch.next(Deadline::after(60s));
    EXPECT_EQ(events.value().size(), 1U);
    for (int i = 0; i < 2; ++i) {
      const auto end = co_await watch.next(Deadline::after(60s));
      EXPECT_THAT(end, FailsWith(ErrorCode::not_found));
    }
  });
}

TEST_F(FileWatchTest, NameThatLeadsOut_IsRefused) { expect_protocol_error(record({Kind::created, "a/../../b"})); }
TEST_F(FileWatchTest, AbsoluteName_IsRefused) { expect_protocol_error(record({Kind::created, "/etc/passwd"})); }
TEST_F(FileWatchTest, EndlessLength_IsRefused) { expect_protocol_error(std::string(10, '\xff')); }
TEST_F(FileWatchTest, LongerRecordThanThereCanBe_IsRefusedBeforeItIsHeld) {
  std::string bytes;
  wire::put_varint(bytes, wire::longest_watch_event + 1);
  expect_protocol_error(bytes);
}
TEST_F(FileWatchTest, UnknownKind_IsRefused) {
  std::string bytes = record({Kind::created, "a"});
  bytes[3] = 99;
  expect_protocol_error(bytes);
}

}  // namespace
}  // namespace cloche
