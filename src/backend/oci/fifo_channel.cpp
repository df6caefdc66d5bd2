#include "backend/oci/fifo_channel.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <boost/asio/write.hpp>

namespace cloche::oci {

namespace {

// Room for a few frames, so that neither side wakes for each 64 KiB. Where it may not be had, less will do.
constexpr int pipe_size = 256 * 1024;

Result<UniqueFd> open_fifo(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  struct stat about;
  if (::fstat(fd.get(), &about) != 0) return fail_errno("stat " + path);
  if (!S_ISFIFO(about.st_mode)) return fail(ErrorCode::internal, path + " is not a named pipe");
  return fd;
}

Error channel_error(const boost::system::error_code& error, std::string_view step) {
  if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) {
    return {ErrorCode::cancelled, std::string(step) + ": the channel was closed"};
  }
  return {ErrorCode::sandbox_lost, std::string(step) + ": " + error.message()};
}

}  // namespace

Status make_fifos(const std::string& to_agent, const std::string& from_agent) {
  for (const std::string& path : {to_agent, from_agent}) {
    if (::mkfifo(path.c_str(), 0600) != 0) return fail_errno("create named pipe " + path);
  }
  return {};
}

Result<FifoEnds> open_agent_ends(const std::string& to_agent, const std::string& from_agent) {
  FifoEnds ends;
  CLOCHE_TRY(ends.to_agent, open_fifo(to_agent, O_RDWR));
  CLOCHE_TRY(ends.from_agent, open_fifo(from_agent, O_RDWR));
  ::fcntl(ends.to_agent.get(), F_SETPIPE_SZ, pipe_size);
  ::fcntl(ends.from_agent.get(), F_SETPIPE_SZ, pipe_size);
  return ends;
}

Result<FifoEnds> open_server_ends(const std::string& to_agent, const std::string& from_agent) {
  FifoEnds ends;
  CLOCHE_TRY(ends.to_agent, open_fifo(to_agent, O_RDWR | O_NONBLOCK));
  CLOCHE_TRY(ends.from_agent, open_fifo(from_agent, O_RDONLY | O_NONBLOCK));
  return ends;
}

FifoChannel::FifoChannel(Executor executor, FifoEnds ends)
    : to_agent_(executor, ends.to_agent.release()), from_agent_(executor, ends.from_agent.release()) {}

Task<Result<std::size_t>> FifoChannel::read_some(std::span<char> into) {
  boost::system::error_code error;
  const std::size_t n = co_await from_agent_.async_read_some(asio::buffer(into.data(), into.size()),
                                                             asio::redirect_error(asio::use_awaitable, error));
  if (error == asio::error::eof) {
    agent_gone_ = true;
    // A write may wait for room that never becomes free.
    boost::system::error_code ignored;
    to_agent_.cancel(ignored);
    co_return 0;
  }
  if (error) co_return fail(channel_error(error, "read from the agent"));
  co_return n;
}

Task<Status> FifoChannel::write_all(std::string_view bytes) {
  if (agent_gone_) co_return fail(ErrorCode::sandbox_lost, "write to the agent: the sandbox has ended");
  boost::system::error_code error;
  co_await asio::async_write(to_agent_, asio::buffer(bytes.data(), bytes.size()),
                             asio::redirect_error(asio::use_awaitable, error));
  if (error && agent_gone_) co_return fail(ErrorCode::sandbox_lost, "write to the agent: the sandbox has ended");
  if (error) co_return fail(channel_error(error, "write to the agent"));
  co_return Status{};
}

void FifoChannel::close() {
  boost::system::error_code ignored;
  to_agent_.close(ignored);
  from_agent_.close(ignored);
}

}  // namespace cloche::oci
