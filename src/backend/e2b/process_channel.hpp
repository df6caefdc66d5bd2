// ProcessChannel: a channel over the stdin and stdout of one program of a sandbox. What is read are events of the
// program's stream; what is written goes in calls of its own, one at a time, in pieces of at most 256 KiB.
//
// Both may break at any byte: ResumableChannel, above it, continues over the next one.
#pragma once

#include <memory>
#include <string>

#include "backend/e2b/api/data_plane.hpp"
#include "core/async/event.hpp"
#include "sandbox/agent_log.hpp"
#include "sandbox/channel.hpp"

namespace cloche::e2b {

class ProcessChannel final : public Channel {
 public:
  // `sandbox` is for messages. The program's stderr is logged with it.
  ProcessChannel(const Executor& executor, std::shared_ptr<DataPlane> plane, DataPlane::Started program,
                 std::string sandbox);
  ProcessChannel(const ProcessChannel&) = delete;
  ProcessChannel& operator=(const ProcessChannel&) = delete;

  // 0 when the program has ended.
  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Status> write_all(std::string_view bytes) override;
  void close() override;

 private:
  std::shared_ptr<DataPlane> plane_;
  DataPlane::Started program_;
  std::string sandbox_;
  std::string unread_;  // printed, and not taken yet
  std::size_t taken_ = 0;
  AgentLog log_;
  bool has_ended_ = false;
  bool is_closed_ = false;
  Event closed_;
};

}  // namespace cloche::e2b
