// Side: what the server and the relay each know of a conversation: what they sent and must keep, what they received.
// Both use the same class; what differs is who dials. No I/O here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "relay/protocol.hpp"
#include "relay/retained.hpp"

namespace cloche::relay {

class Side {
 public:
  // `most`: bytes of a direction that are sent and not acknowledged.
  explicit Side(std::size_t most = window) : window_(most), out_(most), in_(most) {}

  // Bytes for the other side. write() takes as many as there is room for, and returns how many that are.
  std::size_t room() const { return out_.room(); }
  std::size_t write(std::string_view bytes) { return out_.append(bytes); }
  bool is_acknowledged() const { return out_.size() == 0; }

  // Bytes of the other side that were not passed on yet.
  std::string_view readable() const { return in_.from(in_.begin(), in_.size()); }
  void consume(std::size_t count) { (void)in_.release_to(in_.begin() + count); }
  // Those that were passed on, and of them those that were not acknowledged yet.
  std::uint64_t consumed() const { return in_.begin(); }
  std::uint64_t unannounced() const { return consumed() - announced_; }

  // A new connection: returns what to name as consumed in the handshake. Bytes that were received and not passed on are
  // dropped: the other side sends them again.
  std::uint64_t start_connection();
  // Whether this side can continue at the offset that the other side's handshake names.
  bool can_continue_at(std::uint64_t offset) const { return offset >= out_.begin() && offset <= most_sent_; }
  // The other side's handshake: all that follows this offset is sent. `protocol` if that is impossible.
  Status continue_at(std::uint64_t offset);

  // Data or an ack of the other side. `protocol` if it exceeds the window, or acknowledges what was never sent.
  Status take(const Frame& frame);

  // Appends frames with what is to be sent, at most about so many bytes.
  bool has_data_to_send() const { return sent_ < out_.end(); }
  void append_data_to(std::string& out, std::size_t most);
  // Appends an ack of all that was consumed.
  void append_ack_to(std::string& out);
  // The same for all that was received: when this side dials no more and keeps what it has.
  void append_last_ack_to(std::string& out) const { append_ack(out, in_.end()); }

 private:
  std::uint64_t window_;
  Retained out_;
  std::uint64_t sent_ = 0;       // on this connection
  std::uint64_t most_sent_ = 0;  // on any connection
  Retained in_;
  std::uint64_t announced_ = 0;
};

}  // namespace cloche::relay
