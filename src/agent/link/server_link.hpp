// ServerLink: the agent's end of the channel. It cuts bytes into frames, hands them to streams and sends theirs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "agent/link/loop.hpp"
#include "core/result.hpp"
#include "wire/channel_messages.hpp"
#include "wire/egress_messages.hpp"
#include "wire/frame.hpp"

namespace cloche::agent {

class ServerLink;

// One request of the server and all that follows from it. Owned by the link until it closes.
class Stream {
 public:
  Stream(ServerLink& link, wire::StreamId id) : link_(link), id_(id) {}
  virtual ~Stream() = default;

  virtual void on_message(std::string_view) {}
  virtual void on_data(std::uint8_t /*lane*/, std::string_view) {}
  virtual void on_eof(std::uint8_t /*lane*/) {}
  // More may be sent on this lane, or the link has room again.
  virtual void on_writable(std::uint8_t /*lane*/) {}
  // The server gave the request up. The stream ends its work and closes.
  virtual void on_cancel() = 0;

  // How much may be sent on this lane now.
  std::size_t sendable(std::uint8_t lane) const;
  void send_data(std::uint8_t lane, std::string_view bytes);
  // Reads from a descriptor straight into a frame of at most so many bytes, and sends it. Returns what read() did.
  ssize_t send_read(std::uint8_t lane, int fd, std::size_t most);
  void send_eof(std::uint8_t lane);
  // So many received bytes were used up: the server may send as many again.
  void return_credit(std::uint8_t lane, std::size_t bytes);
  template <class Message>
  void send(const Message& message) {
    send_message(wire::encode(message));
  }
  // Last word; the stream is destroyed soon after.
  void close();
  void close(const Error& error);
  bool closed() const { return closed_; }

 protected:
  ServerLink& link() { return link_; }

 private:
  friend class ServerLink;
  void send_message(std::string_view encoded);
  void close(wire::Closed closed);

  ServerLink& link_;
  wire::StreamId id_;
  bool closed_ = false;
  wire::MessageAssembler assembler_;
  wire::LaneCredit send_credit_ = wire::full_credit();
  wire::LaneCredit receive_credit_ = wire::full_credit();
  wire::LaneCredit owed_credit_{};
};

class ServerLink {
 public:
  // Makes the stream for an `open` frame's message, or refuses.
  using Opener = std::function<Result<std::unique_ptr<Stream>>(ServerLink&, wire::StreamId, std::string_view request)>;
  using OnHello = std::function<void(const wire::Hello&, wire::Ready&)>;

  // Speaks over these descriptors, which it does not own and makes non-blocking.
  ServerLink(Loop& loop, int in, int out, Opener opener, OnHello on_hello);

  // Cancels every stream, as if the server had.
  void cancel_all();
  // Closes every stream with this error, whatever it still has to do or to send.
  void close_all(const Error& error);

 private:
  friend class Stream;

  void on_readable();
  void on_frame(const wire::Frame& frame);
  void on_hello(std::string_view payload);
  void on_open(const wire::Frame& frame);
  void flush();
  void flush_soon();
  void queue(const wire::Frame& frame);
  bool has_room() const { return pending() < max_pending; }
  std::size_t pending() const { return out_buffer_.size() - out_position_; }
  void forget(wire::StreamId id);

  // The number of bytes waiting to be written at which the streams are paused; one frame more in total.
  static constexpr std::size_t max_pending = 256 * 1024;
  static constexpr std::size_t max_streams = 512 + wire::max_egress_connections;

  Loop& loop_;
  int in_;
  int out_;
  Opener opener_;
  OnHello on_hello_;
  wire::FrameDecoder decoder_{wire::FrameDecoder::OnBrokenSeal::drop};
  std::string out_buffer_;
  std::size_t out_position_ = 0;
  bool was_full_ = false;
  bool flush_scheduled_ = false;
  bool greeted_ = false;
  std::map<wire::StreamId, std::unique_ptr<Stream>> streams_;
  std::map<wire::StreamId, wire::MessageAssembler> opening_;
  Loop::FdWatcher readable_;
  Loop::FdWatcher writable_;
};

}  // namespace cloche::agent
