#include "agent/relay/exchange.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "agent/relay/relay_socket.hpp"

namespace cloche::agent {

namespace {

constexpr std::size_t agent_read_size = 64 * 1024;
// Bytes for a connection that wait in memory outside of the window.
constexpr std::size_t most_pending = 256 * 1024;

bool is_temporary(int number) { return number == EAGAIN || number == EINTR; }

}  // namespace

Exchange::Exchange(Loop& loop, UniqueFd listener, UniqueFd to_agent, UniqueFd from_agent, std::function<void()> on_done,
                   ExchangeOptions options)
    : loop_(loop),
      listener_(std::move(listener)),
      to_agent_(std::move(to_agent)),
      from_agent_(std::move(from_agent)),
      on_done_(std::move(on_done)),
      options_(options) {
  dials_ = loop.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { on_dial(); });
  agent_readable_ = loop.watch(from_agent_.get(), EPOLLIN, [this](std::uint32_t) {
    read_agent();
    pump();
  });
  agent_writable_ = loop.watch(to_agent_.get(), 0, [this](std::uint32_t) { pump(); });
  beat();
}

void Exchange::on_dial() {
  UniqueFd socket = accept_dial(listener_.get());
  if (!socket) return;
  if (visitors_.size() >= most_visitors) visitors_.pop_front();
  const auto visitor = visitors_.insert(visitors_.end(), std::make_unique<Connection>());
  Connection& connection = **visitor;
  connection.socket = std::move(socket);
  connection.timer = loop_.after(options_.handshake_timeout, [this, visitor] { visitors_.erase(visitor); });
  connection.watch =
      loop_.watch(connection.socket.get(), EPOLLIN, [this, visitor](std::uint32_t) { on_visitor(visitor); });
}

void Exchange::on_visitor(Visitors::iterator visitor) {
  Connection& connection = **visitor;
  if (!connection.has_credentials) {
    const auto is_root = has_root_credentials(connection.socket.get());
    if (!is_root) return;
    if (!*is_root) {
      visitors_.erase(visitor);
      return;
    }
    connection.has_credentials = true;
  }
  std::array<char, relay::handshake_size> bytes;
  const std::size_t missing = relay::handshake_size - connection.handshake.size();
  const ssize_t n = ::recv(connection.socket.get(), bytes.data(), missing, 0);
  if (n < 0 && is_temporary(errno)) return;
  if (n <= 0) {
    visitors_.erase(visitor);
    return;
  }
  connection.handshake.append(bytes.data(), static_cast<std::size_t>(n));
  if (connection.handshake.size() < relay::handshake_size) return;
  const std::span<const char, relay::handshake_size> whole(connection.handshake.data(), relay::handshake_size);
  const auto hello = relay::decode_handshake(whole);
  const bool is_of_server =
      hello && (hello->kind == relay::HandshakeKind::begin || hello->kind == relay::HandshakeKind::resume);
  if (is_of_server) {
    admit(visitor, *hello);
  } else {
    visitors_.erase(visitor);
  }
}

void Exchange::admit(Visitors::iterator visitor, const relay::Handshake& hello) {
  const bool is_known = conversation_ == hello.conversation;
  // Whatever is refused here changes nothing for the current connection.
  if (!is_known && hello.kind == relay::HandshakeKind::resume) return refuse(visitor, hello, relay::Reason::unknown);
  if (is_known && hello.attempt <= attempt_) return refuse(visitor, hello, relay::Reason::stale);
  const bool can_continue = is_known ? side_.can_continue_at(hello.consumed) : hello.consumed == 0;
  if (!can_continue) return refuse(visitor, hello, relay::Reason::out_of_range);

  if (!is_known) {
    if (can_send()) {
      relay::append_end(current_->out, relay::Reason::replaced);
      (void)flush();
    }
    // A frame that the agent has received in part is completed by the new server; see wire/frame.hpp.
    side_ = relay::Side();
    conversation_ = hello.conversation;
  }
  attempt_ = hello.attempt;
  current_ = std::move(*visitor);
  visitors_.erase(visitor);
  current_->timer.reset();
  current_->watch.reset();
  current_->watch = loop_.watch(current_->socket.get(), EPOLLIN, [this](std::uint32_t events) { on_current(events); });
  current_->out = relay::encode({.kind = relay::HandshakeKind::accepted,
                                 .conversation = hello.conversation,
                                 .attempt = hello.attempt,
                                 .consumed = side_.start_connection()});
  (void)side_.continue_at(hello.consumed);
  pump();
}

void Exchange::refuse(Visitors::iterator visitor, relay::Handshake hello, relay::Reason reason) {
  hello.kind = relay::HandshakeKind::refused;
  hello.reason = reason;
  hello.consumed = 0;
  const std::string reply = relay::encode(hello);
  // Nothing was sent before, so there is room for it.
  (void)::send((*visitor)->socket.get(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  visitors_.erase(visitor);
}

void Exchange::on_current(std::uint32_t events) {
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !take_from_server()) current_.reset();
  pump();
}

// False when the connection is over: closed, or used against the protocol. The server dials again if it wants to.
bool Exchange::take_from_server() {
  const std::span<char> room = current_->decoder.room();
  const ssize_t n = ::recv(current_->socket.get(), room.data(), room.size(), 0);
  if (n < 0 && is_temporary(errno)) return true;
  if (n <= 0) return false;
  current_->decoder.fed(static_cast<std::size_t>(n));
  for (;;) {
    const auto frame = current_->decoder.next();
    if (!frame) return false;
    if (!*frame) return true;
    if (!side_.take(**frame)) return false;
  }
}

void Exchange::read_agent() {
  std::array<char, agent_read_size> bytes;
  while (side_.room() > 0 && !is_output_complete_) {
    const ssize_t n = ::read(from_agent_.get(), bytes.data(), std::min(bytes.size(), side_.room()));
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) {
      side_.write({bytes.data(), static_cast<std::size_t>(n)});
      // One at a time while it lives, so that the connection gets its turn.
      if (!agent_status_) return;
      continue;
    }
    // An agent that has ended writes no more, whatever process has inherited its pipe.
    if (agent_status_) is_output_complete_ = true;
    // Its end follows.
    if (n == 0) agent_readable_.reset();
    return;
  }
}

void Exchange::write_agent() {
  while (!side_.readable().empty()) {
    const std::string_view bytes = side_.readable();
    const ssize_t n = to_agent_ ? ::write(to_agent_.get(), bytes.data(), bytes.size()) : -1;
    if (n < 0 && to_agent_ && errno == EINTR) continue;
    if (n < 0 && to_agent_ && errno == EAGAIN) break;
    if (n < 0) {
      // It has ended, or is about to. What it did not take is of no use.
      agent_writable_.reset();
      to_agent_.reset();
      side_.consume(bytes.size());
      return;
    }
    side_.consume(static_cast<std::size_t>(n));
  }
  agent_writable_.want(side_.readable().empty() ? 0U : std::uint32_t{EPOLLOUT});
}

void Exchange::pump() {
  write_agent();
  if (agent_status_) read_agent();
  acknowledge();
  fill();
  if (current_ && !flush()) current_.reset();
  agent_readable_.want(side_.room() > 0 ? std::uint32_t{EPOLLIN} : 0U);
  finish_if_done();
}

void Exchange::acknowledge() {
  if (!can_send() || side_.unannounced() == 0) return;
  if (side_.unannounced() >= relay::ack_bytes) return side_.append_ack_to(current_->out);
  if (std::exchange(is_ack_waiting_, true)) return;
  ack_timer_ = loop_.after(options_.ack_delay, [this] {
    is_ack_waiting_ = false;
    if (can_send() && side_.unannounced() > 0) side_.append_ack_to(current_->out);
    pump();
  });
}

void Exchange::fill() {
  if (!can_send() || current_->pending() >= most_pending) return;
  side_.append_data_to(current_->out, most_pending);
  if (is_output_complete_ && !side_.has_data_to_send()) {
    relay::append_end(current_->out, relay::Reason::agent_ended, static_cast<std::uint32_t>(*agent_status_));
    current_->is_end_sent = true;
  }
}

// False when the connection is over.
bool Exchange::flush() {
  while (current_->pending() > 0) {
    const ssize_t n = ::send(current_->socket.get(), current_->out.data() + current_->out_position, current_->pending(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) return false;
    current_->out_position += static_cast<std::size_t>(n);
  }
  if (current_->pending() == 0) {
    current_->out.clear();
    current_->out_position = 0;
  } else if (current_->out_position >= most_pending) {
    current_->out.erase(0, current_->out_position);
    current_->out_position = 0;
  }
  current_->watch.want(current_->pending() > 0 ? std::uint32_t{EPOLLIN | EPOLLOUT} : std::uint32_t{EPOLLIN});
  return true;
}

void Exchange::beat() {
  heartbeat_ = loop_.after(options_.heartbeat, [this] {
    // A connection that does not take what it has needs no more.
    if (can_send() && current_->pending() == 0) side_.append_ack_to(current_->out);
    beat();
    pump();
  });
}

void Exchange::on_agent_ended(int status) {
  if (agent_status_) return;
  agent_status_ = status;
  linger_ = loop_.after(options_.linger, [this] {
    if (on_done_) std::exchange(on_done_, {})();
  });
  pump();
}

void Exchange::finish_if_done() {
  const bool has_all =
      is_output_complete_ && side_.is_acknowledged() && current_ && current_->is_end_sent && current_->pending() == 0;
  if (has_all && on_done_) std::exchange(on_done_, {})();
}

}  // namespace cloche::agent
