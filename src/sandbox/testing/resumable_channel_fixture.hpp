// For tests of resumable channels: connections that are cut where a test wants, a relay, and a channel to it.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <random>

#include "core/async/event.hpp"
#include "core/async/task_group.hpp"
#include "relay/protocol.hpp"
#include "relay/side.hpp"
#include "sandbox/resumable_channel.hpp"

namespace cloche {

using namespace std::chrono_literals;

inline std::string noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

// A connection whose other end is a function of the test. It is cut after so many bytes of either direction.
class TestConnection final : public Channel {
 public:
  explicit TestConnection(Executor executor) : changed_(executor) {}

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    while (to_server_.empty() && !is_cut_) co_await changed_.wait();
    if (is_closed_) co_return fail(ErrorCode::unavailable, "the connection was closed here");
    if (to_server_.empty() && ends_with_error) co_return fail(ErrorCode::unavailable, "the connection was reset");
    const std::size_t count = to_server_.copy(into.data(), into.size());
    to_server_.erase(0, count);
    co_return count;
  }
  Task<Status> write_all(std::string_view bytes) override {
    while (is_stuck && !is_cut_) co_await changed_.wait();
    if (is_cut_) co_return fail(ErrorCode::unavailable, "the connection is broken");
    const std::string_view through = bytes.substr(0, most_up);
    most_up -= through.size();
    if (!through.empty()) hear(through);
    if (through.size() < bytes.size()) {
      cut();
      co_return fail(ErrorCode::unavailable, "the connection broke");
    }
    co_return Status{};
  }
  void close() override {
    is_closed_ = true;
    cut();
  }

  void say(std::string_view bytes) {
    if (is_cut_) return;
    const std::string_view through = bytes.substr(0, most_down);
    most_down -= through.size();
    to_server_ += through;
    if (through.size() < bytes.size()) cut();
    changed_.notify();
  }
  void cut() {
    is_cut_ = true;
    changed_.notify();
  }
  bool is_cut() const { return is_cut_; }

  std::function<void(std::string_view)> hear = [](std::string_view) {};
  std::size_t most_up = SIZE_MAX;
  std::size_t most_down = SIZE_MAX;
  bool ends_with_error = false;
  bool is_stuck = false;

 private:
  Event changed_;
  std::string to_server_;
  bool is_cut_ = false;
  bool is_closed_ = false;
};

// The dials of a test keep their connections, also those that the channel has dropped.
class SharedConnection final : public Channel {
 public:
  explicit SharedConnection(std::shared_ptr<TestConnection> shared) : shared_(std::move(shared)) {}
  Task<Result<std::size_t>> read_some(std::span<char> into) override { return shared_->read_some(into); }
  Task<Status> write_all(std::string_view bytes) override { return shared_->write_all(bytes); }
  void close() override { shared_->close(); }

 private:
  std::shared_ptr<TestConnection> shared_;
};

// A relay without processes: says what the test gives it, and keeps what it hears.
class TestRelay {
 public:
  void take(const std::shared_ptr<TestConnection>& connection) {
    auto handshake = std::make_shared<std::string>();
    auto decoder = std::make_shared<relay::Decoder>();
    connection->hear = [this, handshake, decoder, to = std::weak_ptr(connection)](std::string_view bytes) {
      const auto connected = to.lock();
      const std::string_view first = bytes.substr(0, relay::handshake_size - handshake->size());
      if (!first.empty()) {
        *handshake += first;
        bytes.remove_prefix(first.size());
        if (handshake->size() == relay::handshake_size) greet(connected, *handshake);
      }
      while (!bytes.empty() && current_ == connected) {
        bytes.remove_prefix(decoder->feed(bytes));
        for (;;) {
          const auto frame = decoder->next();
          ASSERT_TRUE(frame) << frame.error().message;
          if (!*frame) break;
          const auto taken = side_.take(**frame);
          ASSERT_TRUE(taken) << taken.error().message;
        }
        if (!is_slow) pass_on();
        // As the real one, which ends then.
        if (has_ended_ && side_.is_acknowledged()) return connected->cut();
        speak();
      }
    };
  }

  void say(std::string_view bytes) {
    to_say_ += bytes;
    speak();
  }
  void end_agent() {
    has_ended_ = true;
    speak();
  }
  void pass_on() {
    heard += side_.readable();
    side_.consume(side_.readable().size());
  }
  void speak() {
    if (!current_) return;
    to_say_.erase(0, side_.write(to_say_));
    std::string bytes;
    if (side_.unannounced() > 0) side_.append_ack_to(bytes);
    side_.append_data_to(bytes, SIZE_MAX);
    if (has_ended_ && to_say_.empty()) relay::append_end(bytes, relay::Reason::agent_ended);
    if (!bytes.empty()) current_->say(bytes);
  }
  bool is_acknowledged() const { return side_.is_acknowledged(); }

  std::string heard;
  bool is_slow = false;  // it passes nothing on by itself
  std::vector<relay::Handshake> handshakes;

 private:
  void greet(const std::shared_ptr<TestConnection>& connected, const std::string& bytes) {
    const auto hello =
        relay::decode_handshake(std::span<const char, relay::handshake_size>(bytes.data(), bytes.size()));
    ASSERT_TRUE(hello);
    ASSERT_TRUE(side_.can_continue_at(hello->consumed)) << hello->consumed;
    handshakes.push_back(*hello);
    relay::Handshake reply{.kind = relay::HandshakeKind::accepted,
                           .conversation = hello->conversation,
                           .attempt = hello->attempt,
                           .consumed = side_.start_connection()};
    ASSERT_TRUE(side_.continue_at(hello->consumed));
    current_ = connected;
    connected->say(relay::encode(reply));
    speak();
  }

  relay::Side side_;
  std::string to_say_;
  bool has_ended_ = false;
  std::shared_ptr<TestConnection> current_;
};

inline ResumeOptions quick() {
  return {.patience = 30s, .first_delay = 0ms, .longest_delay = 0ms, .dial_timeout = 30s, .ack_delay = 0ms};
}

class ResumableChannelTest : public testing::Test {
 protected:
  // How the next connections are made; the last one stays.
  using Prepare = std::function<void(const std::shared_ptr<TestConnection>&)>;

  void open(Prepare prepare, ResumeOptions options = quick()) {
    Dial dial = [this, prepare = std::move(prepare)](Deadline) -> Task<Result<std::unique_ptr<Channel>>> {
      ++dials_;
      if (dial_error_) co_return fail(*dial_error_);
      connections_.push_back(std::make_shared<TestConnection>(io_.get_executor()));
      prepare(connections_.back());
      co_return std::make_unique<SharedConnection>(connections_.back());
    };
    open_with(std::move(dial), options);
  }
  void open_with(Dial dial, ResumeOptions options = quick()) {
    channel_ = std::make_unique<ResumableChannel>(io_.get_executor(), std::move(dial), "box", options);
  }
  void open_to_relay(ResumeOptions options = quick()) {
    open([this](const auto& connection) { relay_.take(connection); }, options);
  }
  // A relay that accepts each handshake, and then says these bytes.
  void open_to_liar(std::function<std::string(relay::Handshake)> reply, ResumeOptions options = quick()) {
    open(
        [reply](const std::shared_ptr<TestConnection>& connection) {
          connection->hear = [reply, to = std::weak_ptr(connection), done = false](std::string_view bytes) mutable {
            if (std::exchange(done, true)) return;
            const auto hello = relay::decode_handshake(
                std::span<const char, relay::handshake_size>(bytes.data(), relay::handshake_size));
            to.lock()->say(reply(*hello));
          };
        },
        options);
  }
  static std::string accepted(relay::Handshake hello, std::uint64_t consumed = 0) {
    hello.kind = relay::HandshakeKind::accepted;
    hello.consumed = consumed;
    return relay::encode(hello);
  }
  static std::string refused(relay::Handshake hello, relay::Reason reason) {
    hello.kind = relay::HandshakeKind::refused;
    hello.reason = reason;
    return relay::encode(hello);
  }

  Task<Result<std::string>> read_exactly(std::size_t size) {
    std::string bytes;
    std::vector<char> buffer(64 * 1024);
    while (bytes.size() < size) {
      const std::span<char> room = std::span(buffer).first(std::min(buffer.size(), size - bytes.size()));
      auto count = co_await channel_->read_some(room);
      if (!count) co_return fail(std::move(count).error());
      if (*count == 0) co_return fail(ErrorCode::not_found, "the end");
      bytes.append(buffer.data(), *count);
    }
    co_return bytes;
  }
  // The error of a read.
  Task<std::optional<ErrorCode>> read_error() {
    auto read = co_await read_exactly(SIZE_MAX);
    co_return read.error().code;
  }

  void run(std::function<Task<>()> body) {
    std::exception_ptr thrown;
    bool is_done = false;
    asio::co_spawn(
        io_,
        [&]() -> Task<> {
          co_await body();
          if (channel_) co_await channel_->shut_down();
          is_done = true;
        },
        [&](std::exception_ptr e) { thrown = e; });
    io_.run_for(60s);
    if (thrown) std::rethrow_exception(thrown);
    ASSERT_TRUE(is_done) << "it hangs";
    io_.restart();
  }

  // Both directions at once, with connections that `prepare` makes. All must arrive.
  void talk(const std::string& up, const std::string& down, std::size_t piece, Prepare prepare) {
    relay_ = TestRelay();
    open([&](const auto& connection) {
      prepare(connection);
      relay_.take(connection);
    });
    relay_.say(down);
    run([&]() -> Task<> {
      TaskGroup writers(io_.get_executor());
      writers.spawn("writer", [&]() -> Task<> {
        for (std::size_t at = 0; at < up.size(); at += piece) {
          const auto written = co_await channel_->write_all(std::string_view(up).substr(at, piece));
          EXPECT_TRUE(written) << written.error().message;
        }
      });
      const auto read = co_await read_exactly(down.size());
      EXPECT_TRUE(read) << read.error().message;
      EXPECT_TRUE(read && *read == down);
      co_await writers.join();
      while (relay_.heard.size() < up.size()) co_await pause_for(0ms);
      EXPECT_TRUE(relay_.heard == up);
    });
    channel_.reset();
    connections_.clear();
  }

  asio::io_context io_;
  TestRelay relay_;
  std::optional<Error> dial_error_;
  int dials_ = 0;
  std::vector<std::shared_ptr<TestConnection>> connections_;
  std::unique_ptr<ResumableChannel> channel_;
};

}  // namespace cloche
