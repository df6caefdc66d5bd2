#include "http/server/client_stream.hpp"

namespace cloche::http {

Task<Status> ClientStream::write(std::string_view bytes, Deadline deadline) {
  if (broken_) co_return fail(ErrorCode::unavailable, "write: the connection is broken");
  if (writing_) co_return fail(ErrorCode::internal, "write: another write is in progress");
  struct Writing {
    explicit Writing(ClientStream& w) : client_stream(w) { client_stream.writing_ = true; }
    ~Writing() {
      client_stream.writing_ = false;
      if (!done) client_stream.broken_ = true;
    }
    ClientStream& client_stream;
    bool done = false;
  } writing(*this);
  if (inflow_.is_handed_over()) {
    // Who carries a tunnel decides how long it may pause.
    CLOCHE_CO_CHECK(co_await stream_->write_all(bytes, deadline));
    bytes_out_ += bytes.size();
    writing.done = true;
    co_return Status{};
  }
  // Writes in pieces, so that a slow client must make progress all the time. The bytes stay in memory until then, so
  // the whole write has a time limit as well.
  constexpr std::size_t piece_size = 64 << 10;
  const auto in_all = std::chrono::seconds(bytes.size() / std::max<std::uint64_t>(1, limits_.body_rate.count));
  deadline = deadline.sooner(Deadline::after(limits_.write_stall + in_all));
  do {
    const std::string_view piece = bytes.substr(0, piece_size);
    const Deadline soon = deadline.sooner(Deadline::after(limits_.write_stall));
    CLOCHE_CO_CHECK(co_await stream_->write_all(piece, soon));
    bytes.remove_prefix(piece.size());
    bytes_out_ += piece.size();
  } while (!bytes.empty());
  writing.done = true;
  co_return Status{};
}

Status ClientStream::moved(std::size_t read, std::size_t written) {
  inflow_.moved(read);
  bytes_out_ += written;
  return stream_->moved(read, written);
}

}  // namespace cloche::http
