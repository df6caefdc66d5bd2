// CountedStream: a connection to a server, whose bytes are counted and may be refused.
#pragma once

#include <memory>

#include "egress/broker/account.hpp"
#include "http/stream.hpp"

namespace cloche::egress {

class CountedStream final : public http::Stream {
 public:
  // `meter` may be null.
  CountedStream(std::unique_ptr<http::Stream> stream, std::shared_ptr<Traffic> traffic, std::shared_ptr<Books> books,
                std::shared_ptr<Meter> meter)
      : stream_(std::move(stream)), traffic_(std::move(traffic)), books_(std::move(books)), meter_(std::move(meter)) {}

  // `limit_reached` when the meter refuses; the stream is closed then.
  Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override;
  Task<Status> write_all(std::string_view bytes, Deadline deadline) override;
  Task<> end_writing(Deadline deadline) override { return stream_->end_writing(deadline); }
  void close() override { stream_->close(); }
  bool is_quiet() override { return stream_->is_quiet(); }
  asio::ip::tcp::socket* bare_socket(Direction direction) override { return stream_->bare_socket(direction); }
  Status moved(std::size_t read, std::size_t written) override { return count(written, read); }

 private:
  Status count(std::uint64_t up, std::uint64_t down);

  std::unique_ptr<http::Stream> stream_;
  std::shared_ptr<Traffic> traffic_;
  std::shared_ptr<Books> books_;
  std::shared_ptr<Meter> meter_;
};

}  // namespace cloche::egress
