// PrefixedStream: a stream whose first bytes were read already.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "http/stream.hpp"

namespace cloche::egress {

class PrefixedStream final : public http::Stream {
 public:
  PrefixedStream(std::string prefix, std::unique_ptr<http::Stream> stream)
      : prefix_(std::move(prefix)), stream_(std::move(stream)) {}

  Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override {
    if (prefix_.empty()) return stream_->read_some(into, deadline);
    return take_prefix(into);
  }
  Task<Status> write_all(std::string_view bytes, Deadline deadline) override {
    return stream_->write_all(bytes, deadline);
  }
  Task<> end_writing(Deadline deadline) override { return stream_->end_writing(deadline); }
  void close() override { stream_->close(); }
  bool is_quiet() override { return prefix_.empty() && stream_->is_quiet(); }
  asio::ip::tcp::socket* bare_socket(Direction direction) override {
    const bool holds_back = direction == Direction::reading && !prefix_.empty();
    return holds_back ? nullptr : stream_->bare_socket(direction);
  }
  Status moved(std::size_t read, std::size_t written) override { return stream_->moved(read, written); }

 private:
  Task<Result<std::size_t>> take_prefix(std::span<char> into) {
    const std::size_t count = std::min(into.size(), prefix_.size());
    std::copy_n(prefix_.begin(), count, into.begin());
    prefix_.erase(0, count);
    co_return count;
  }

  std::string prefix_;
  std::unique_ptr<http::Stream> stream_;
};

}  // namespace cloche::egress
