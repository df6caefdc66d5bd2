// Stream: a connected byte stream over whatever transport, with a deadline on every step.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "core/async/task.hpp"
#include "http/endpoint.hpp"

namespace cloche::http {

// One reader and one writer at a time. A step whose deadline passes fails with `timeout`, and the stream is closed by
// it: what was half done cannot be taken up again. Throws only when the task is cancelled.
class Stream {
 public:
  virtual ~Stream() = default;

  // Some bytes; 0 when the other side has ended the stream in good order.
  virtual Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) = 0;
  virtual Task<Status> write_all(std::string_view bytes, Deadline deadline) = 0;

  // Ends the output of this side; reading is still possible. With TLS it also waits for the other side's close.
  virtual Task<> end_writing(Deadline deadline) = 0;

  // Ends pending steps with the error `cancelled`.
  virtual void close() = 0;

  // True while nothing has arrived, not even the other side's end: what a connection must be like to be used again.
  virtual bool is_quiet() = 0;

  enum class Direction { reading, writing };
  // For those who move bytes within the kernel: the socket, if the bytes of this direction are those of the socket, and
  // none of them is held back here. nullptr: there is none, or not yet. The stream keeps it, so ask again after each
  // wait, and call moved() for what was done with it.
  virtual asio::ip::tcp::socket* bare_socket(Direction) { return nullptr; }
  // So many bytes were read from the socket, and so many are about to be written to it. After an error they may not be.
  virtual Status moved(std::size_t /*read*/, std::size_t /*written*/) { return {}; }
};

// Connects, including the TLS handshake. `unavailable` if the server does not respond, `permission_denied` if access is
// denied or a certificate is not accepted.
Task<Result<std::unique_ptr<Stream>>> open_stream(Executor executor, const Endpoint& endpoint, Deadline deadline);

}  // namespace cloche::http
