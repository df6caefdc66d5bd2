// FifoChannel: the channel as two named pipes in the sandbox's run directory, so that it outlives the server.
//
// The agent holds each of them for reading and writing: whatever happens to the server, it never meets an end of file
// or a broken pipe, and a server that comes later opens them again by name.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/channel.hpp"

namespace cloche::oci {

// One side's ends of both pipes.
struct FifoEnds {
  UniqueFd to_agent;
  UniqueFd from_agent;
};

Status make_fifos(const std::string& to_agent, const std::string& from_agent);
// The agent's stdin and stdout.
Result<FifoEnds> open_agent_ends(const std::string& to_agent, const std::string& from_agent);
// The server's ends. The end of file comes when the last process of the sandbox is gone. Without an agent, writes are
// lost: the server's own end counts as a reader, so that SIGPIPE cannot end the server.
Result<FifoEnds> open_server_ends(const std::string& to_agent, const std::string& from_agent);

class FifoChannel final : public Channel {
 public:
  FifoChannel(Executor executor, FifoEnds ends);

  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Status> write_all(std::string_view bytes) override;
  void close() override;

 private:
  asio::posix::stream_descriptor to_agent_;
  asio::posix::stream_descriptor from_agent_;
  bool agent_gone_ = false;
};

}  // namespace cloche::oci
