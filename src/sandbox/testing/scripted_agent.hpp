// An agent whose every word is written by the test, and the link that hears it.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>

#include "sandbox/agent_link.hpp"

namespace cloche {

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

}  // namespace cloche
