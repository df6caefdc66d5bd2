#include "sandbox/agent_link.hpp"

#include <gtest/gtest.h>

#include <ctime>

#include "core/async/task_group.hpp"
#include "core/fault_point.hpp"
#include "sandbox/files.hpp"
#include "sandbox/testing/scripted_agent.hpp"
#include "wire/exec_messages.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;

// An agent that an older server left behind would misread what it does not know.
TEST_F(AgentLinkTest, AgentOfAnOlderLevel_IsNotAskedForWhatItDoesNotKnow) {
  answer_hello();
  run([&]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    EXPECT_EQ(link_.file_level(), 0U);
    Files files(link_, 1000, 1000);
    const auto is_unsupported = [](const auto& answered) {
      return !answered && answered.error().code == ErrorCode::unsupported &&
             answered.error().message.find("older version of the server") != std::string::npos;
    };
    const Deadline soon = Deadline::after(60s);
    FilePath file("/f");
    EditRequest edit{"a", "b"};
    const auto edited = co_await files.edit(std::move(file), std::move(edit), soon);
    EXPECT_TRUE(is_unsupported(edited));
    MoveOptions keep;
    keep.existing = MoveOptions::Existing::keep;
    FilePath from("/a");
    FilePath to("/b");
    const auto moved = co_await files.move(std::move(from), std::move(to), keep, soon);
    EXPECT_TRUE(is_unsupported(moved));
    FilePath anywhere = FilePath::anywhere("/tmp/x");
    const auto looked_at = co_await files.stat(std::move(anywhere), Links::follow, soon);
    EXPECT_TRUE(is_unsupported(looked_at));
    GlobOptions options;
    options.exclude = {"x"};
    FilePath top("/");
    std::string all = "*";
    const auto found = co_await files.glob(std::move(top), std::move(all), std::move(options), soon);
    EXPECT_TRUE(is_unsupported(found));
    FilePath tree("/");
    const WatchOptions recursive{.recursion = Recursion::whole_tree};
    const auto watched = co_await files.watch(std::move(tree), recursive, soon);
    EXPECT_TRUE(is_unsupported(watched));
    FilePath detailed("/f");
    const StatOptions details{.with_attributes = true};
    const auto described = co_await files.stat(std::move(detailed), details, soon);
    EXPECT_TRUE(is_unsupported(described));
    FilePath marked("/f");
    WriteOptions attributes;
    attributes.attributes = {{"user.a", "b"}};
    std::string content = "x";
    const auto written = co_await files.write(std::move(marked), std::move(content), std::move(attributes), soon);
    EXPECT_TRUE(is_unsupported(written));
    EXPECT_FALSE(files.can_keep_modes());
    EXPECT_FALSE(link_.lost());
  });
}

TEST_F(AgentLinkTest, AgentThatAnswers_IsReady) {
  answer_hello();
  run([&]() -> Task<> {
    const auto ready = co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    EXPECT_TRUE(ready) << ready.error().message;
  });
}

TEST_F(AgentLinkTest, AgentThatNeverAnswers_IsATimeout) {
  run([&]() -> Task<> {
    const auto ready = co_await link_.greet(Greeting::fresh, {}, Deadline::after(20ms));
    EXPECT_EQ(ready.error().code, ErrorCode::timeout);
  });
}

TEST_F(AgentLinkTest, TakeoverWithHalfAFrameInTheWay_FindsTheAnswer) {
  // The rest of a frame, and a whole one that looks like a response to another hello.
  std::string rest = "half a frame \x02\x02\x02";
  const wire::Ready foreign{.version = 1, .nonce = "not yours"};
  const std::string payload = wire::encode(foreign);
  wire::append_frame(rest, {.type = wire::FrameType::ready, .payload = payload});
  answer_hello(rest);
  run([&]() -> Task<> {
    const auto ready = co_await link_.greet(Greeting::takeover, {}, Deadline::after(60s));
    EXPECT_TRUE(ready) << ready.error().message;
  });
}

// Each byte of it could be the beginning of the answer.
TEST_F(AgentLinkTest, TakeoverWithAFloodInTheWay_FindsTheAnswerWithoutDelay) {
  const std::string flood(256 * 1024, static_cast<char>(wire::FrameType::ready));
  for (int i = 0; i < 128; ++i) channel().say(flood);
  answer_hello();
  const std::clock_t began = std::clock();
  run([&]() -> Task<> {
    const auto ready = co_await link_.greet(Greeting::takeover, {}, Deadline::after(60s));
    EXPECT_TRUE(ready) << ready.error().message;
  });
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  // A look at a header takes nanoseconds; a copy of all that might follow it, a thousand times as long.
  EXPECT_LT(seconds, 1.0) << "of the processor's time, for 32 MiB";
}

#ifdef CLOCHE_FAULT_POINTS

// Whatever throws in a loop of the link, nothing waits for an answer that cannot come.
class BrokenLink : public AgentLinkTest, public testing::WithParamInterface<const char*> {
 protected:
  ~BrokenLink() override { (void)faults::set_faults(""); }
};

TEST_P(BrokenLink, LoopThatThrows_EndsEveryStreamAtOnceWithAnInternalError) {
  answer_hello();
  bool told = false;
  link_.on_lost([&] { told = true; });
  run([&]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    const std::string request = wire::encode(wire::ExecListRequest{});
    auto waiting = link_.open(request).value();
    while (channel().to_agent.find(request) == std::string::npos) co_await pause_for(1ms);
    EXPECT_TRUE(faults::set_faults(GetParam()));
    auto next = link_.open(request).value();         // something to write
    channel().say({.type = wire::FrameType::pong});  // something to read
    const auto answer = co_await waiting->next(Deadline::after(60s));
    EXPECT_FALSE(answer);
    if (!answer) {
      EXPECT_EQ(answer.error().code, ErrorCode::internal) << answer.error().message;
    }
    EXPECT_EQ(link_.open(request).error().code, ErrorCode::internal);
    while (!told) co_await pause_for(1ms);
  });
}

INSTANTIATE_TEST_SUITE_P(Loops, BrokenLink, testing::Values("link.read=throw", "link.write=bad_alloc"));

#endif

TEST_F(AgentLinkTest, AgentOfAnotherProtocol_IsRefused) {
  channel().on_write = [this] {
    wire::FrameDecoder decoder;
    decoder.feed(channel().to_agent);
    const auto hello = wire::decode<wire::Hello>(decoder.next().value()->payload).value();
    const wire::Ready ready{.version = 999, .nonce = hello.nonce};
    const std::string payload = wire::encode(ready);
    channel().say({.type = wire::FrameType::ready, .payload = payload});
  };
  run([&]() -> Task<> {
    const auto ready = co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    EXPECT_EQ(ready.error().code, ErrorCode::protocol);
  });
}

TEST_F(AgentLinkTest, AgentThatSendsMoreThanItsCredit_IsCutOff) {
  answer_hello();
  run([&]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    const std::string request = wire::encode(wire::ExecListRequest{});
    auto stream = link_.open(request).value();
    const std::string flood(wire::max_payload, 'f');
    for (std::size_t sent = 0; sent <= wire::initial_credit; sent += flood.size()) {
      channel().say({.type = wire::FrameType::data, .lane = wire::lane::out, .stream = 1, .payload = flood});
    }
    while (!link_.lost()) co_await pause_for(1ms);
    EXPECT_EQ(link_.lost()->code, ErrorCode::protocol);
  });
}

TEST_F(AgentLinkTest, AgentThatSpeaksGarbage_EndsEveryStreamAtOnce) {
  answer_hello();
  run([&]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    const std::string request = wire::encode(wire::ExecListRequest{});
    auto first = link_.open(request).value();
    auto second = link_.open(request).value();
    channel().say("\x7f this is no frame at all");
    const auto one = co_await first->next(Deadline::after(60s));
    const auto two = co_await second->next(Deadline::after(60s));
    EXPECT_EQ(one.error().code, ErrorCode::protocol);
    EXPECT_EQ(two.error().code, ErrorCode::protocol);
    EXPECT_FALSE(link_.open(request));
  });
}

TEST_F(AgentLinkTest, ChannelThatEnds_IsALostSandbox) {
  answer_hello();
  run([&]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    const std::string request = wire::encode(wire::ExecListRequest{});
    auto stream = link_.open(request).value();
    channel().say(std::string());  // a read of nothing: the agent is gone
    const auto event = co_await stream->next(Deadline::after(60s));
    EXPECT_EQ(event.error().code, ErrorCode::sandbox_lost);
  });
}

TEST_F(AgentLinkTest, ChannelThatEnds_SaysTheCauseWhereItIsKnown) {
  answer_hello();
  link_.explain_end_with([]() -> Task<std::string> { co_return "it reached its memory limit"; });
  run([&]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    const std::string request = wire::encode(wire::ExecListRequest{});
    auto stream = link_.open(request).value();
    channel().say(std::string());
    const auto event = co_await stream->next(Deadline::after(60s));
    EXPECT_EQ(event.error().message, "the sandbox was lost: it reached its memory limit");
    EXPECT_EQ(link_.lost()->message, event.error().message);
  });
}

TEST_F(AgentLinkTest, StreamThatIsAbandoned_EndsThoseWhoWaitForIt) {
  answer_hello();
  run([&]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    const std::string request = wire::encode(wire::ExecListRequest{});
    const auto stream = link_.open(request).value();
    TaskGroup waiters(io_.get_executor());
    std::optional<Result<StreamEvent>> event;
    std::optional<Status> sent;
    waiters.spawn("reader", [&]() -> Task<> { event = co_await stream->next(Deadline::never()); });
    waiters.spawn("writer", [&]() -> Task<> {
      const std::string too_much(2 * wire::initial_credit, 'x');
      sent = co_await stream->send_view(wire::lane::in, too_much, Deadline::never());
    });
    co_await pause_for(1ms);
    EXPECT_FALSE(event || sent);
    stream->abandon();
    co_await waiters.join();
    EXPECT_EQ(event->error().code, ErrorCode::cancelled);
    EXPECT_EQ(sent->error().code, ErrorCode::cancelled);
    EXPECT_EQ(stream->send_some(wire::lane::in, "late"), 0u);
    EXPECT_FALSE(stream->next_if_ready());
    EXPECT_FALSE(link_.lost());
  });
}

TEST_F(AgentLinkTest, BytesThatGoOutAtOnce_StayWithinTheCredit) {
  answer_hello();
  run([&]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    const std::string request = wire::encode(wire::ExecListRequest{});
    const auto stream = link_.open(request).value();
    const std::string too_much(wire::initial_credit + 7, 'x');
    EXPECT_EQ(stream->send_some(wire::lane::in, too_much), wire::initial_credit);
    EXPECT_EQ(stream->send_some(wire::lane::in, too_much), 0u);
    const std::string credit = wire::encode(wire::Credit{5});
    channel().say({.type = wire::FrameType::credit, .lane = wire::lane::in, .stream = 1, .payload = credit});
    while (stream->send_some(wire::lane::in, "12345") == 0) co_await pause_for(1ms);
    EXPECT_EQ(stream->send_some(wire::lane::in, "6"), 0u);
  });
}

TEST_F(AgentLinkTest, ServerThatHasNoCredit_WaitsForIt) {
  answer_hello();
  run([&]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    const std::string request = wire::encode(wire::ExecListRequest{});
    auto stream = link_.open(request).value();
    std::string too_much(wire::initial_credit + 1, 'x');
    auto sent = co_await stream->send_data(wire::lane::in, too_much, Deadline::after(20ms));
    EXPECT_EQ(sent.error().code, ErrorCode::timeout);
    const wire::Credit credit{1000};
    const std::string payload = wire::encode(credit);
    channel().say({.type = wire::FrameType::credit, .lane = wire::lane::in, .stream = 1, .payload = payload});
    std::string little(1000, 'y');
    sent = co_await stream->send_data(wire::lane::in, little, Deadline::after(60s));
    EXPECT_TRUE(sent) << sent.error().message;
  });
}

}  // namespace
}  // namespace cloche
