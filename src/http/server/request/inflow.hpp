// Inflow: what comes from a client, read all the time into a bounded buffer. Private to this folder.
//
// Since a read is always pending, the client's end is noticed while a handler works, and a deadline is a wait that ends
// and not a read that is broken off: the stream can still be written to afterwards. Only a full buffer stops the
// reading.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/async/event.hpp"
#include "http/stream.hpp"

namespace cloche::http {

class Inflow {
 public:
  Inflow(Stream& stream, const Executor& executor, std::size_t most_kept);

  // Reads until the stream ends, or until it is handed over; runs beside those who use the bytes.
  Task<> pump();

  // From now on one reader reads for itself, with read(): nothing is read ahead of it, and nothing is copied. What a
  // pending read brings still comes here first.
  void hand_over() { handed_over_ = true; }
  bool is_handed_over() const { return handed_over_; }
  // Of a stream that was handed over. A step that is cancelled may take bytes with it.
  Task<Result<std::size_t>> read(std::span<char> into, Deadline deadline);

  // Of a stream that was handed over: nothing was read ahead of the reader, and nothing will be.
  bool is_bare() const { return handed_over_ && !is_pumped_ && !ended_ && bytes().empty(); }
  // Another one has read so much of it.
  void moved(std::size_t count) { total_ += count; }

  std::string_view bytes() const { return std::string_view(buffer_).substr(used_); }
  void consume(std::size_t count);
  // How much is read ahead of those who use it.
  void keep(std::size_t most);
  // Gives memory back that is not used, where a pause may follow.
  void shrink() {
    if (bytes().empty()) buffer_ = {};
  }
  // Nothing more will come.
  bool ended() const { return ended_; }
  std::uint64_t total() const { return total_; }
  std::uint64_t consumed() const { return total_ - bytes().size(); }

  // Waits for more bytes, the end, the deadline or wake(). One waiter at a time.
  Task<> wait(Deadline deadline);
  void wake() { arrived_.cancel(); }

 private:
  static constexpr std::size_t piece_size = 16 << 10;

  Stream& stream_;
  std::size_t most_kept_;
  std::array<char, piece_size> piece_;
  std::string buffer_;
  std::size_t used_ = 0;  // of the buffer's front
  std::uint64_t total_ = 0;
  bool ended_ = false;
  bool handed_over_ = false;
  bool is_pumped_ = true;
  asio::steady_timer arrived_;
  Event room_;
};

}  // namespace cloche::http
