#include "sandbox/agent_link.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <ctime>
#include <deque>

#include "core/fault_point.hpp"
#include "sandbox/files.hpp"
#include "wire/exec_messages.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;

// The other end of the channel, played by the test.
class ScriptedChannel final : public Channel {
 public:
  explicit ScriptedChannel(Executor executor) : changed_(executor) {}

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    while (from_agent_.empty() && !closed_) co_await changed_.wait();
    if (closed_) co_return fail(ErrorCode::unavailable, "closed");
    std::string part = std::move(from_agent_.front());
    from_agent_.pop_front();
    std::copy(part.begin(), part.end(), into.begin());
    co_return part.size();
  }
  Task<Status> write_all(std::string_view bytes) override {
    to_agent += bytes;
    if (on_write) on_write();
    co_return Status{};
  }
  void close() override {
    closed_ = true;
    changed_.notify();
  }

  void say(std::string bytes) {
    from_agent_.push_back(std::move(bytes));
    changed_.notify();
  }
  void say(const wire::Frame& frame) {
    std::string bytes;
    wire::append_frame(bytes, frame);
    say(std::move(bytes));
  }

  std::string to_agent;
  std::function<void()> on_write;

 private:
  Event changed_;
  std::deque<std::string> from_agent_;
  bool closed_ = false;
};

class ScriptedEnclosure final : public Enclosure {
 public:
  explicit ScriptedEnclosure(Executor executor) : channel_(std::move(executor)) {}
  const SandboxId& id() const override { return id_; }
  const SandboxSpec& spec() const override { return spec_; }
  std::string runtime() const override { return "none"; }
  Kernel kernel() const override { return Kernel::shared; }
  ScriptedChannel& channel() override { return channel_; }
  Task<Status> set_limits(const Limits&) override { co_return Status{}; }
  Task<Result<Evidence>> evidence() override { co_return Evidence{}; }
  bool has_cheap_evidence() const override { return true; }
  Task<Status> destroy(Deadline) override { co_return Status{}; }

 private:
  SandboxId id_{"scripted"};
  SandboxSpec spec_;
  ScriptedChannel channel_;
};

class AgentLinkTest : public testing::Test {
 protected:
  AgentLinkTest()
      : enclosure_(std::make_shared<ScriptedEnclosure>(io_.get_executor())), link_(io_.get_executor(), enclosure_) {}

  ScriptedChannel& channel() { return enclosure_->channel(); }

  // Answers the hello it finds in what the server wrote.
  void answer_hello(std::string before = {}) {
    channel().on_write = [this, before] {
      if (answered_) return;
      wire::FrameDecoder decoder;
      decoder.feed(channel().to_agent);
      const auto frame = decoder.next().value();
      if (!frame) return;
      const auto hello = wire::decode<wire::Hello>(frame->payload).value();
      const wire::Ready ready{.version = wire::protocol_version, .nonce = hello.nonce};
      std::string bytes = before;
      const std::string payload = wire::encode(ready);
      wire::append_frame(bytes, {.type = wire::FrameType::ready, .payload = payload});
      channel().say(std::move(bytes));
      answered_ = true;
    };
  }

  void run(std::function<Task<>()> body) {
    std::exception_ptr thrown;
    asio::co_spawn(
        io_,
        [&]() -> Task<> {
          co_await body();
          co_await link_.shut_down();
        },
        [&](std::exception_ptr e) { thrown = e; });
    io_.run_for(20s);
    if (thrown) std::rethrow_exception(thrown);
  }

  asio::io_context io_;
  std::shared_ptr<ScriptedEnclosure> enclosure_;
  AgentLink link_;
  bool answered_ = false;
};

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
