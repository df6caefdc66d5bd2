#include "agent/link/server_link.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace cloche::agent {

namespace {

// More at once would leave the server waiting: it goes on when these bytes have been passed on.
constexpr std::size_t read_size = 64 * 1024;

void make_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

// The channel is the agent's only way to be of use: without it, it ends, and the sandbox with it.
[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "cloche-agent: channel: %s\n", why);
  std::_Exit(70);
}

}  // namespace

std::size_t Stream::sendable(std::uint8_t lane) const {
  if (closed_ || !link_.has_room()) return 0;
  return std::min<std::uint64_t>(send_credit_[lane], wire::max_payload);
}

void Stream::send_data(std::uint8_t lane, std::string_view bytes) {
  if (closed_ || bytes.empty()) return;
  send_credit_[lane] -= bytes.size();
  link_.queue({.type = wire::FrameType::data, .lane = lane, .stream = id_, .payload = bytes});
}

ssize_t Stream::send_read(std::uint8_t lane, int fd, std::size_t most) {
  std::string& out = link_.out_buffer_;
  const std::size_t had = out.size();
  ssize_t count = -1;
  out.resize_and_overwrite(had + wire::header_size + most + wire::seal_size, [&](char* bytes, std::size_t) {
    char* frame = bytes + had;
    count = ::read(fd, frame + wire::header_size, most);
    if (count <= 0) return had;
    const auto size = static_cast<std::size_t>(count);
    return had + wire::enclose_payload(frame, wire::FrameType::data, lane, id_, size);
  });
  if (count > 0) {
    send_credit_[lane] -= static_cast<std::size_t>(count);
    link_.flush_soon();
  }
  return count;
}

void Stream::send_eof(std::uint8_t lane) {
  if (!closed_) link_.queue({.type = wire::FrameType::eof, .lane = lane, .stream = id_});
}

void Stream::return_credit(std::uint8_t lane, std::size_t bytes) {
  if (closed_) return;
  // Small returns are saved up, so that a byte-wise reader does not cost a frame a byte.
  owed_credit_[lane] += bytes;
  if (owed_credit_[lane] < wire::initial_credit / 4) return;
  const wire::Credit credit{static_cast<std::uint32_t>(owed_credit_[lane])};
  receive_credit_[lane] += owed_credit_[lane];
  owed_credit_[lane] = 0;
  link_.queue({.type = wire::FrameType::credit, .lane = lane, .stream = id_, .payload = wire::encode(credit)});
}

void Stream::send_message(std::string_view encoded) {
  if (closed_) return;
  wire::append_message(link_.out_buffer_, wire::FrameType::message, id_, encoded);
  link_.flush_soon();
}

void Stream::close() { close(wire::Closed{}); }

void Stream::close(const Error& error) { close(wire::Closed{wire::close_reason_of(error.code), error.message}); }

void Stream::close(wire::Closed closed) {
  if (closed_) return;
  if (closed.message.size() > wire::max_payload / 2) closed.message.resize(wire::max_payload / 2);
  link_.queue({.type = wire::FrameType::close, .stream = id_, .payload = wire::encode(closed)});
  closed_ = true;
  link_.forget(id_);
}

ServerLink::ServerLink(Loop& loop, int in, int out, Opener opener, OnHello on_hello)
    : loop_(loop), in_(in), out_(out), opener_(std::move(opener)), on_hello_(std::move(on_hello)) {
  make_nonblocking(in);
  make_nonblocking(out);
  readable_ = loop.watch(in, EPOLLIN, [this](std::uint32_t) { on_readable(); });
  writable_ = loop.watch(out, 0, [this](std::uint32_t) { flush(); });
}

void ServerLink::cancel_all() {
  std::vector<Stream*> streams;
  for (auto& [id, stream] : streams_) streams.push_back(stream.get());
  for (Stream* stream : streams) {
    if (!stream->closed()) stream->on_cancel();
  }
}

void ServerLink::close_all(const Error& error) {
  for (auto& [id, stream] : streams_) stream->close(error);
}

void ServerLink::on_readable() {
  const std::span<char> room = decoder_.room(read_size);
  const ssize_t n = ::read(in_, room.data(), room.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) give_up("cannot read");
  if (n == 0) give_up("closed");
  decoder_.fed(static_cast<std::size_t>(n));
  for (;;) {
    auto frame = decoder_.next();
    if (!frame) give_up(frame.error().message.c_str());
    if (!*frame) return;
    on_frame(**frame);
  }
}

void ServerLink::on_frame(const wire::Frame& frame) {
  using enum wire::FrameType;
  if (frame.type == hello) return on_hello(frame.payload);
  if (!greeted_) give_up("the first frame is not a hello");
  if (frame.type == ping) return queue({.type = pong, .payload = frame.payload});
  if (frame.type == open) return on_open(frame);

  const auto found = streams_.find(frame.stream);
  if (found == streams_.end() || found->second->closed()) return;  // crossed with our close
  Stream& stream = *found->second;
  switch (frame.type) {
    case message: {
      auto whole = stream.assembler_.add(frame);
      if (!whole) return stream.close(whole.error());
      if (*whole) stream.on_message(**whole);
      return;
    }
    case data:
      if (frame.payload.size() > stream.receive_credit_[frame.lane]) {
        stream.on_cancel();
        return;
      }
      stream.receive_credit_[frame.lane] -= frame.payload.size();
      return stream.on_data(frame.lane, frame.payload);
    case eof: return stream.on_eof(frame.lane);
    case credit: {
      const auto credit = wire::decode<wire::Credit>(frame.payload);
      if (!credit) return;
      stream.send_credit_[frame.lane] += credit->bytes;
      return stream.on_writable(frame.lane);
    }
    case cancel: return stream.on_cancel();
    default: return;  // frames only an agent sends
  }
}

void ServerLink::on_hello(std::string_view payload) {
  const auto hello = wire::decode<wire::Hello>(payload);
  if (!hello) give_up("malformed hello");
  cancel_all();
  streams_.clear();
  opening_.clear();
  greeted_ = true;
  wire::Ready ready{.version = wire::protocol_version, .nonce = hello->nonce};
  on_hello_(*hello, ready);
  queue({.type = wire::FrameType::ready, .payload = wire::encode(ready)});
}

void ServerLink::on_open(const wire::Frame& frame) {
  const auto refuse = [&](const Error& error) {
    const wire::Closed closed{wire::close_reason_of(error.code), error.message};
    queue({.type = wire::FrameType::close, .stream = frame.stream, .payload = wire::encode(closed)});
  };
  if (streams_.contains(frame.stream)) return refuse({ErrorCode::invalid_argument, "stream is already open"});
  if (streams_.size() + opening_.size() >= max_streams) {
    return refuse({ErrorCode::limit_reached, "too many streams are open in this sandbox"});
  }
  auto& assembler = opening_[frame.stream];
  auto whole = assembler.add(frame);
  if (whole && !*whole) return;  // more of it follows
  if (whole) {
    auto stream = opener_(*this, frame.stream, **whole);
    if (stream) {
      // A stream may have ended within its own construction.
      if (!(*stream)->closed()) streams_.emplace(frame.stream, std::move(*stream));
    } else {
      refuse(stream.error());
    }
  } else {
    refuse(whole.error());
  }
  opening_.erase(frame.stream);
}

void ServerLink::queue(const wire::Frame& frame) {
  wire::append_frame(out_buffer_, frame);
  flush_soon();
}

void ServerLink::flush_soon() {
  // Everything from one round of the loop is sent in one write.
  if (pending() >= wire::max_payload) return flush();
  if (std::exchange(flush_scheduled_, true)) return;
  loop_.later([this] {
    flush_scheduled_ = false;
    flush();
  });
}

void ServerLink::flush() {
  while (pending() > 0) {
    const ssize_t n = ::write(out_, out_buffer_.data() + out_position_, pending());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) give_up("cannot write");
    out_position_ += static_cast<std::size_t>(n);
  }
  if (pending() == 0) {
    out_buffer_.clear();
    out_position_ = 0;
  } else if (out_position_ > max_pending) {
    out_buffer_.erase(0, out_position_);
    out_position_ = 0;
  }
  writable_.want(pending() > 0 ? std::uint32_t{EPOLLOUT} : 0U);
  if (!has_room()) {
    was_full_ = true;
  } else if (was_full_) {
    was_full_ = false;
    loop_.later([this] {
      std::vector<Stream*> streams;
      for (auto& [id, stream] : streams_) streams.push_back(stream.get());
      for (Stream* stream : streams) {
        for (std::uint8_t lane = 0; lane < wire::lane::count; ++lane) {
          if (!stream->closed()) stream->on_writable(lane);
        }
      }
    });
  }
}

void ServerLink::forget(wire::StreamId id) {
  // The stream is on the call stack; it is destroyed in the next round of the loop.
  loop_.later([this, id] {
    const auto found = streams_.find(id);
    if (found != streams_.end() && found->second->closed()) streams_.erase(found);
  });
}

}  // namespace cloche::agent
