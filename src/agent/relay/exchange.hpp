// Exchange: what the relay does with the bytes between its agent and the server's connections.
//
// One connection is current. Others are still at their handshakes, few of them and not for long. A handshake of a later
// attempt, or of another conversation, replaces the current connection. Output of the agent that the server has not
// acknowledged is kept; when that is a window, the agent is not read from.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "agent/link/loop.hpp"
#include "core/unique_fd.hpp"
#include "relay/protocol.hpp"
#include "relay/side.hpp"

namespace cloche::agent {

struct ExchangeOptions {
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds ack_delay{200};
  // On an idle connection the relay says something that often.
  std::chrono::milliseconds heartbeat{10'000};
  // How long the last output of an agent that has ended waits for the server.
  std::chrono::milliseconds linger{30'000};
};

class Exchange {
 public:
  static constexpr std::size_t most_visitors = 8;

  // The pipes of the agent and the listening socket; all are nonblocking. `on_done` is called once, when the agent has
  // ended and the server has all of its output, or does not fetch it.
  Exchange(Loop& loop, UniqueFd listener, UniqueFd to_agent, UniqueFd from_agent, std::function<void()> on_done,
           ExchangeOptions options = {});
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // `status`: as of wait(2).
  void on_agent_ended(int status);

 private:
  struct Connection {
    UniqueFd socket;
    bool has_credentials = false;
    std::string handshake;
    relay::Decoder decoder;
    std::string out;
    std::size_t out_position = 0;
    bool is_end_sent = false;
    Loop::Timer timer;
    Loop::FdWatcher watch;

    std::size_t pending() const { return out.size() - out_position; }
  };
  using Visitors = std::list<std::unique_ptr<Connection>>;

  void on_dial();
  void on_visitor(Visitors::iterator visitor);
  void admit(Visitors::iterator visitor, const relay::Handshake& hello);
  void refuse(Visitors::iterator visitor, relay::Handshake hello, relay::Reason reason);
  void on_current(std::uint32_t events);
  bool take_from_server();

  void read_agent();
  void write_agent();
  // Moves all that can be moved now, and waits for the rest.
  void pump();
  // Nothing follows an end.
  bool can_send() const { return current_ && !current_->is_end_sent; }
  void acknowledge();
  void fill();
  bool flush();
  void beat();
  void finish_if_done();

  Loop& loop_;
  UniqueFd listener_;
  UniqueFd to_agent_;
  UniqueFd from_agent_;
  std::function<void()> on_done_;
  ExchangeOptions options_;

  std::optional<relay::Conversation> conversation_;
  std::uint64_t attempt_ = 0;
  relay::Side side_;
  std::optional<int> agent_status_;
  bool is_output_complete_ = false;

  std::unique_ptr<Connection> current_;
  Visitors visitors_;
  Loop::Timer ack_timer_;
  bool is_ack_waiting_ = false;
  Loop::Timer heartbeat_;
  Loop::Timer linger_;
  Loop::FdWatcher dials_;
  Loop::FdWatcher agent_readable_;
  Loop::FdWatcher agent_writable_;
};

}  // namespace cloche::agent
