// MemoryStream: two streams that are connected to each other in memory, with little room between them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/async/event.hpp"
#include "http/stream.hpp"

namespace cloche::egress::testing {

// One direction.
struct MemoryLane {
  MemoryLane(const Executor& executor, std::size_t most) : room(most), changed(executor) {}

  const std::size_t room;
  std::string bytes;
  std::size_t most_held = 0;
  bool ended = false;
  bool closed = false;
  Event changed;
};

class MemoryStream final : public http::Stream {
 public:
  static std::pair<std::unique_ptr<MemoryStream>, std::unique_ptr<MemoryStream>> make_pair(const Executor& executor,
                                                                                           std::size_t room = 16384);
  MemoryStream(std::shared_ptr<MemoryLane> in, std::shared_ptr<MemoryLane> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~MemoryStream() override { close(); }

  Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override;
  Task<Status> write_all(std::string_view bytes, Deadline deadline) override;
  Task<> end_writing(Deadline deadline) override;
  void close() override;
  bool is_quiet() override { return in_->bytes.empty() && !in_->ended && !in_->closed; }

  const std::shared_ptr<MemoryLane>& in() const { return in_; }
  const std::shared_ptr<MemoryLane>& out() const { return out_; }

 private:
  std::shared_ptr<MemoryLane> in_;
  std::shared_ptr<MemoryLane> out_;
};

}  // namespace cloche::egress::testing
